#include "runtime/virtual/launcher.h"

#include <algorithm>
#include <limits>

#include "runtime/virtual/residency.h"

namespace assay::runtime::simulated {
namespace {

std::vector<ir::Queue> queues_of(const Chip& chip, const Launch& launch, int64_t groups) {
  if (!launch.queues.empty()) return launch.queues;
  std::vector<ir::Queue> out;
  for (int u = 0; u < chip.units; ++u) {
    const int64_t whole = groups / chip.units, rest = groups % chip.units;
    const int64_t begin = whole * u + std::min<int64_t>(u, rest);
    out.push_back({u, begin, begin + whole + (u < rest ? 1 : 0)});
  }
  return out;
}

class Run final : public Streams {
 public:
  Run(Machine& machine, const Job& job) : Streams(machine, {&job, 1}, false) {}

  void assign_queues(const std::vector<ir::Queue>& queues, double join) {
    for (int u = 0; u < chip_.units; ++u) {
      std::vector<GroupRange> own;
      for (const ir::Queue& q : queues)
        if (q.unit % chip_.units == u && q.begin < q.end) own.push_back({q.begin, q.end});
      if (own.empty()) continue;
      queues_.push_back({std::move(own)});
      // Wake-up skew: the first unit starts at once, the last one after `join`.
      go_on(add(u), 0, chip_.units > 1 && u > 0 ? join * u / (chip_.units - 1) : 0);
    }
  }

  void assign_groups() {
    shared_ = {jobs_.front().ranges};
    const Needs needs = needs_of(chip_, *jobs_.front().code);
    for (int g = 0; g < resident(chip_, needs); ++g)
      for (int u = 0; u < chip_.units; ++u) {
        if (shared_.is_empty()) return;
        go_on(add(u), partition_of(chip_, needs, g), 0);
      }
  }

  // Units that only compute do not interact, so all take as long as the first one. For groups of
  // the others, only values are computed.
  void replicate_first_unit() {
    const Job& job = jobs_.front();
    Executor values(machine_, *job.code, units_.back(), chip_.units - 1, 0, job.arguments);
    values.values_only();
    int64_t n = 0;
    for (const GroupRange& r : job.ranges)
      for (int64_t group = r.begin; group < r.end; ++group, ++n) {
        if (n % chip_.units == 0)
          shared_.ranges.push_back({group, group + 1});
        else
          for (values.start(group, 0); !values.idle() && values.fault().empty();)
            values.run(std::numeric_limits<double>::infinity());
        if (!values.fault().empty()) fail(values.fault());
      }
    units_.back().restart(chip_);
    const Needs needs = needs_of(chip_, *job.code);
    for (int g = 0; g < resident(chip_, needs) && !shared_.is_empty(); ++g)
      go_on(add(0), partition_of(chip_, needs, g), 0);
  }

 private:
  struct Groups {
    std::vector<GroupRange> ranges;
    size_t range = 0;
    bool is_empty() {
      while (range < ranges.size() && ranges[range].begin == ranges[range].end) ++range;
      return range == ranges.size();
    }
    int64_t next() { return ranges[range].begin++; }  // pre: not empty
  };

  void ended(size_t id, double at) override { go_on(id, streams_[id].partition, at); }
  void go_on(size_t id, int partition, double at) {
    Groups& from = chip_.threads ? shared_ : queues_[id];
    if (!from.is_empty()) begin(id, 0, partition, from.next(), at);
  }

  Groups shared_;               // for units that become free
  std::vector<Groups> queues_;  // of each stream, where lanes are vectors
};

}  // namespace

int active_units(const Chip& chip, const Launch& launch, int64_t groups) {
  if (chip.threads) {
    int64_t all = 0;
    for (const GroupRange& r : ranges_of(launch, groups)) all += r.end - r.begin;
    return static_cast<int>(std::clamp<int64_t>(all, 1, chip.units));
  }
  std::vector<bool> used(static_cast<size_t>(chip.units), false);
  for (const ir::Queue& q : queues_of(chip, launch, groups))
    if (q.begin < q.end) used[static_cast<size_t>(q.unit % chip.units)] = true;
  return std::max<int>(1, static_cast<int>(std::count(used.begin(), used.end(), true)));
}

Outcome simulate(Machine& machine, const Job& job, const Launch& launch, int64_t groups,
                 double join) {
  Run run(machine, job);
  if (machine.chip.threads && machine.chip.units > 1 && job.code->computes)
    run.replicate_first_unit();
  else if (machine.chip.threads)
    run.assign_groups();
  else
    run.assign_queues(queues_of(machine.chip, launch, groups), join);
  return run.run();
}

}  // namespace assay::runtime::simulated
