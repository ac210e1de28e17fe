// Streams of operations that run at once in simulated time. Each executes groups one after the
// other; launchers say which.
#pragma once

#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch.h"
#include "runtime/virtual/executor.h"

namespace assay::runtime::simulated {

struct Outcome {
  double ticks = 0;      // until the last group has ended
  std::string fault;     // "": none
  int64_t executed = 0;  // operations, without skipped iterations of settled loops
  // Per launch and level, where several run at once; else empty.
  std::vector<std::vector<Hierarchy::Bytes>> moved{};
};

struct Job {  // a launch
  const Code* code = nullptr;
  std::vector<View> arguments;
  std::vector<GroupRange> ranges;  // of groups
  int64_t groups() const;          // in all of them
};

class Streams {  // invariant: a stream is in next_ once if it is live, except the current one
 public:
  virtual ~Streams() = default;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Pre: some streams have begun.
  Outcome run();

 protected:
  struct Stream {
    int unit = 0, partition = 0;
    int job = -1;  // that its executor is for
    std::unique_ptr<Executor> executor{};
    bool live = false;  // a group is at work
  };

  // `several`: bytes are counted for each job.
  Streams(Machine& machine, std::span<const Job> jobs, bool several);

  // A stream's group has ended. It rests unless it begins another one.
  virtual void ended(size_t id, double at) = 0;

  size_t add(int unit);  // rests
  void begin(size_t id, int job, int partition, int64_t group, double at);
  void fail(std::string fault) { fault_ = std::move(fault); }

  Machine& machine_;
  const Chip& chip_;
  std::span<const Job> jobs_;
  std::vector<Unit> units_;
  std::vector<Stream> streams_;

 private:
  void start_counting(const Executor& e);
  void count(const Stream& s);
  void skip(size_t id);
  double skip(Stream& s, int64_t iterations);
  void rebuild_queue(size_t running);

  static constexpr size_t kNone = static_cast<size_t>(-1);
  using At = std::pair<double, size_t>;
  std::priority_queue<At, std::vector<At>, std::greater<>> next_;
  size_t current_ = kNone;
  int live_ = 0;
  double end_ = 0;
  int64_t executed_ = 0;  // by executors that are gone
  std::string fault_;
  std::vector<std::vector<Hierarchy::Bytes>> moved_;  // per job; empty: not counted
  std::vector<Hierarchy::Bytes> before_;
};

}  // namespace assay::runtime::simulated
