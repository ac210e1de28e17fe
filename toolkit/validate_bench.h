// Running the trials of one operator on a device. All kernels are in one module; trials that store
// an operand in the same layout share its buffer. Every result is checked. Then samples are taken
// in rounds over the programs, so that a drifting clock affects all alike.
//
// Rounds are grouped into visits, with other operators between them. Co-tenants' use of caches and
// the placement of units change within seconds to minutes: visits meet more of it than one block.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probe/host_state.h"
#include "runtime/device.h"
#include "toolkit/run.h"
#include "toolkit/validate_draw.h"

namespace assay::toolkit {

// What every program of the tile-graph must compute, in float64, from random operands.
struct Expected {
  Values inputs;  // by position of the graph's inputs
  std::vector<std::vector<double>> outputs, bound;
};

Result<Expected> expect(const ir::Graph& graph, uint64_t seed);

struct BenchOptions {
  int repeat = 9;
  std::string cache_dir;
  Progress progress;
  const CancelToken* cancel = nullptr;
  probe::HostState* host = nullptr;  // looked at before each sample; nullptr: not
};

class TrialBench {  // invariant: a module with the trials' kernels, and a launch for each
 public:
  static Result<TrialBench> load(runtime::Device& device, const hwdesc::Target& target,
                                 std::span<Trial> trials, const Expected& expected,
                                 const BenchOptions& options);

  // Runs every program once and fills each row's `wrong`. Errors, here and below: cancelled, or a
  // run failed.
  Diags look();

  // Takes 1/`of` of each program's samples, at least one; all of a very slow program's in the first
  // visit.
  Diags visit(int of);

  // Fills each row's times and samples from all visits so far.
  void conclude();

  // All of it in one visit.
  Diags measure();

  double build_seconds() const { return module_->build_seconds(); }

 private:
  struct Sample {
    double seconds = 0;
    double fma_rate = 0;  // just before; 0: unknown
  };

  struct Samples {
    double estimate = 0;  // seconds of the run that was checked
    int launches = 1, warm_up = 1, rounds = 1;
    std::vector<Sample> quiet, disturbed;
  };

  Diags add_operands(const Trial& trial);
  Result<runtime::BufferRange> buffer_of(const ir::Program& p, int tensor);
  Diags check(size_t trial);
  void plan_samples();
  Diags sample(size_t trial);
  void conclude(size_t trial) const;

  std::span<Trial> trials_;
  const Expected* expected_ = nullptr;
  BenchOptions options_;
  bool computes_here_ = false;  // so other processes of this host disturb it
  bool in_one_kernel_ = false;  // the device runs all launches of a sample in one kernel
  std::unique_ptr<runtime::Module> module_;
  std::map<std::pair<int, std::string>, runtime::BufferRange> buffers_;  // (tensor, layout)
  std::vector<runtime::Launch> launches_;
  std::vector<Samples> samples_;
  int visits_ = 0;
};

}  // namespace assay::toolkit
