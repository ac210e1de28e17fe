#include "runtime/virtual/phase_run.h"

#include <algorithm>

#include "runtime/virtual/residency.h"

namespace assay::runtime::simulated {
namespace {

struct Room {  // of a unit, in use
  int groups = 0, waves = 0;
  int64_t registers = 0, scratch_bytes = 0;
  std::vector<int> in_partition{};  // waves
  void take(const Needs& n, int times) {
    groups += times;
    waves += times * n.waves;
    registers += int64_t{times} * n.registers * n.threads;
    scratch_bytes += times * n.scratch_bytes;
  }
};

class PhaseRun final : public Streams {
 public:
  PhaseRun(Machine& machine, std::span<const Job> jobs, bool merged, double beside)
      : Streams(machine, jobs, true), beside_(beside), rooms_(units_.size()) {
    Needs all;
    for (const Job& j : jobs) {
      own_.push_back(needs_of(chip_, *j.code));
      all = largest(all, own_.back());
      left_.push_back(j.ranges);
      std::ranges::reverse(left_.back());
    }
    taken_ = merged ? std::vector<Needs>(jobs.size(), all) : own_;
    for (Room& r : rooms_) r.in_partition.assign(static_cast<size_t>(chip_.partitions), 0);
    resting_.resize(units_.size());
    deal(0);
  }

 private:
  void ended(size_t id, double at) override {
    const Stream& s = streams_[id];
    Room& room = rooms_[static_cast<size_t>(s.unit)];
    room.take(taken_[static_cast<size_t>(s.job)], -1);
    occupy(room, own_[static_cast<size_t>(s.job)], s.partition, -1);
    resting_[static_cast<size_t>(s.unit)].push_back(id);
    deal(at);
  }

  void deal(double at) {
    while (has_group()) {
      const Needs& taken = taken_[job_];
      Room* best = nullptr;
      for (Room& r : rooms_)
        if (fits(r, taken) && (best == nullptr || r.groups < best->groups)) best = &r;
      if (best == nullptr) return;
      best->take(taken, 1);
      const int partition = emptiest(*best, own_[job_]);
      occupy(*best, own_[job_], partition, 1);
      begin(stream_on(static_cast<int>(best - rooms_.data())), static_cast<int>(job_), partition,
            left_[job_].back().begin++, std::max(at, static_cast<double>(job_) * beside_));
    }
  }

  bool has_group() {
    for (; job_ < left_.size(); ++job_) {
      std::vector<GroupRange>& ranges = left_[job_];
      while (!ranges.empty() && ranges.back().begin == ranges.back().end) ranges.pop_back();
      if (!ranges.empty()) return true;
    }
    return false;
  }

  // A group that fits no unit has one for itself.
  bool fits(const Room& r, const Needs& n) const {
    if (r.groups == 0) return true;
    const int64_t registers = r.registers + int64_t{n.registers} * n.threads;
    const auto scratch = static_cast<double>(r.scratch_bytes + n.scratch_bytes);
    return r.waves + n.waves <= chip_.waves && (chip_.groups == 0 || r.groups < chip_.groups) &&
           (chip_.registers == 0 || registers <= chip_.registers) &&
           (n.scratch_bytes == 0 || chip_.scratch.capacity <= 0 ||
            scratch <= chip_.scratch.capacity);
  }

  void occupy(Room& r, const Needs& n, int partition, int times) const {
    for (int k = 0; k < std::min(n.waves, chip_.partitions); ++k)
      r.in_partition[static_cast<size_t>((partition + k) % chip_.partitions)] += times;
  }

  // First of the neighbouring partitions with the fewest waves.
  int emptiest(const Room& r, const Needs& n) const {
    int best = 0, least = -1;
    for (int first = 0; first < chip_.partitions; ++first) {
      int waves = 0;
      for (int k = 0; k < std::min(n.waves, chip_.partitions); ++k)
        waves += r.in_partition[static_cast<size_t>((first + k) % chip_.partitions)];
      if (least < 0 || waves < least) best = first, least = waves;
    }
    return best;
  }

  size_t stream_on(int unit) {
    std::vector<size_t>& resting = resting_[static_cast<size_t>(unit)];
    if (resting.empty()) return add(unit);
    const size_t id = resting.back();
    resting.pop_back();
    return id;
  }

  const double beside_;
  std::vector<Needs> own_, taken_;             // of a group of each job
  std::vector<std::vector<GroupRange>> left_;  // of each job, the next range last
  size_t job_ = 0;                             // whose groups are dealt
  std::vector<Room> rooms_;
  std::vector<std::vector<size_t>> resting_;  // streams of each unit
};

}  // namespace

Outcome simulate_phase(Machine& machine, std::span<const Job> jobs, bool merged, double beside) {
  return PhaseRun(machine, jobs, merged, beside).run();
}

}  // namespace assay::runtime::simulated
