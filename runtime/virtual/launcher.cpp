#include "runtime/virtual/launcher.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <queue>

namespace assay::runtime::simulated {
namespace {

// Units of vectors interact in shared memory only, so one may be simulated this many ticks ahead.
constexpr double kAhead = 200;

struct Stream {
  std::unique_ptr<Executor> executor;
  int unit = 0;
  std::vector<GroupRange> queue;  // its own groups, where lanes are vectors
  size_t range = 0;
  bool live = true;
};

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

// Occupancy: groups that a unit holds at once.
int resident(const Chip& chip, const Code& code) {
  int groups = chip.waves / waves_of(chip, code);
  if (chip.groups > 0) groups = std::min(groups, chip.groups);
  if (code.scratch_bytes > 0 && chip.scratch.capacity > 0)
    groups = std::min(
        groups, static_cast<int>(chip.scratch.capacity / static_cast<double>(code.scratch_bytes)));
  if (chip.registers > 0)
    groups = std::min(groups, chip.registers / ((registers_of(chip, code) + chip.granule - 1) /
                                                chip.granule * chip.granule * code.width));
  return std::max(1, groups);
}

// First partition of a group, whose waves occupy consecutive partitions.
int partition_of(const Chip& chip, const Code& code, int group) {
  return group * std::min(waves_of(chip, code), chip.partitions) % chip.partitions;
}

class Run {
 public:
  Run(Machine& machine, const Code& code, std::span<const View> arguments)
      : machine_(machine),
        chip_(machine.chip),
        code_(code),
        arguments_(arguments),
        units_(static_cast<size_t>(machine.chip.units)) {
    for (Unit& u : units_) u.restart(chip_);
  }

  void assign_queues(const std::vector<ir::Queue>& queues, double join) {
    for (int u = 0; u < chip_.units; ++u) {
      Stream s;
      for (const ir::Queue& q : queues)
        if (q.unit % chip_.units == u && q.begin < q.end) s.queue.push_back({q.begin, q.end});
      if (s.queue.empty()) continue;
      // Wake-up skew: the first unit starts at once, the last one after `join`.
      add(std::move(s), u, 0, chip_.units > 1 && u > 0 ? join * u / (chip_.units - 1) : 0);
    }
  }

  void assign_groups(std::vector<GroupRange> ranges) {
    ranges_ = std::move(ranges);
    const int groups = resident(chip_, code_);
    for (int g = 0; g < groups; ++g)
      for (int u = 0; u < chip_.units; ++u) {
        if (range_ >= ranges_.size()) return;
        add(Stream{}, u, partition_of(chip_, code_, g), 0);
      }
  }

  // Units that only compute do not interact, so all take as long as the first one. For groups of
  // the others, only values are computed.
  void replicate_first_unit(const std::vector<GroupRange>& ranges) {
    Executor values(machine_, code_, units_.back(), chip_.units - 1, 0, arguments_);
    values.values_only();
    std::vector<GroupRange> first;
    int64_t n = 0;
    for (const GroupRange& r : ranges)
      for (int64_t group = r.begin; group < r.end; ++group, ++n) {
        if (n % chip_.units == 0)
          first.push_back({group, group + 1});
        else
          for (values.start(group, 0); !values.idle() && values.fault().empty();)
            values.run(std::numeric_limits<double>::infinity());
        if (!values.fault().empty()) fault_ = values.fault();
      }
    units_.back().restart(chip_);
    ranges_ = std::move(first);
    const int groups = resident(chip_, code_);
    for (int g = 0; g < groups && range_ < ranges_.size(); ++g)
      add(Stream{}, 0, partition_of(chip_, code_, g), 0);
  }

  Outcome run() {
    if (!fault_.empty()) return {0, fault_, 0};
    while (live_ > 0) {
      const auto [at, id] = next_.top();
      next_.pop();
      Stream& s = streams_[id];
      const double until = next_.empty() ? std::numeric_limits<double>::infinity()
                                         : next_.top().first + (chip_.threads ? 0.5 : kAhead);
      s.executor->run(until);
      if (!s.executor->fault().empty()) return {0, s.executor->fault(), 0};
      if (s.executor->idle())
        start_next_group(s, s.executor->finished());
      else if (s.executor->settled_iterations() > 0)
        skip(s);
      if (s.live) next_.emplace(s.executor->time(), id);
    }
    int64_t executed = 0;
    for (const Stream& s : streams_) executed += s.executor->operations();
    return {end_, "", executed};
  }

 private:
  void add(Stream s, int unit, int partition, double at) {
    s.unit = unit;
    s.executor = std::make_unique<Executor>(machine_, code_, units_[static_cast<size_t>(unit)],
                                            unit, partition, arguments_);
    ++live_;
    start_next_group(s, at);
    if (!s.live) return;  // no group was left
    streams_.push_back(std::move(s));
    next_.emplace(at, streams_.size() - 1);
  }

  // Starts the stream's next group, or ends it.
  void start_next_group(Stream& s, double at) {
    std::vector<GroupRange>& ranges = chip_.threads ? ranges_ : s.queue;
    size_t& range = chip_.threads ? range_ : s.range;
    while (range < ranges.size() && ranges[range].begin == ranges[range].end) ++range;
    if (range < ranges.size()) return s.executor->start(ranges[range].begin++, at);
    s.live = false;
    --live_;
    end_ = std::max(end_, at);
  }

  // Skips iterations of settled loops: of one stream if it shares nothing with others, else of all
  // streams while all are settled.
  void skip(Stream& s) {
    if (live_ == 1 || (!chip_.threads && !s.executor->touched_shared())) {
      const double by = s.executor->skip(s.executor->settled_iterations());
      return machine_.hierarchy.shift(live_ == 1 ? -1 : s.unit, by);
    }
    double span = std::numeric_limits<double>::infinity();
    for (const Stream& other : streams_) {
      if (!other.live) continue;
      const int64_t left = other.executor->settled_iterations();
      if (left < 1) return;
      span = std::min(span, static_cast<double>(left) * other.executor->settled_ticks());
    }
    std::vector<double> shifts(units_.size(), std::numeric_limits<double>::infinity());
    for (Stream& other : streams_) {
      if (!other.live) continue;
      const auto iterations = std::llround(
          span / other.executor->settled_ticks());  // rounded: at most what is left, and floor
                                                    // would lose iterations to rounding errors
      double& by = shifts[static_cast<size_t>(other.unit)];
      by = std::min(by, other.executor->skip(iterations));
    }
    for (size_t u = 0; u < units_.size(); ++u)
      if (chip_.threads && std::isfinite(shifts[u])) units_[u].shift(shifts[u]);
    // Shared state advances by the smallest of the streams' whole iterations.
    machine_.hierarchy.shift(-1, *std::min_element(shifts.begin(), shifts.end()));
    rebuild_queue(s);
  }

  void rebuild_queue(const Stream& running) {
    next_ = {};
    for (size_t i = 0; i < streams_.size(); ++i)
      if (streams_[i].live && &streams_[i] != &running)
        next_.emplace(streams_[i].executor->time(), i);
  }

  using At = std::pair<double, size_t>;
  Machine& machine_;
  const Chip& chip_;
  const Code& code_;
  std::span<const View> arguments_;
  std::vector<Unit> units_;
  std::vector<Stream> streams_;
  std::priority_queue<At, std::vector<At>, std::greater<>> next_;
  std::vector<GroupRange> ranges_;  // for units that become free
  size_t range_ = 0;
  int live_ = 0;
  double end_ = 0;
  std::string fault_;
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

Outcome simulate(Machine& machine, const Code& code, std::span<const View> arguments,
                 const Launch& launch, int64_t groups, double join) {
  Run run(machine, code, arguments);
  if (machine.chip.threads && machine.chip.units > 1 && code.computes)
    run.replicate_first_unit(ranges_of(launch, groups));
  else if (machine.chip.threads)
    run.assign_groups(ranges_of(launch, groups));
  else
    run.assign_queues(queues_of(machine.chip, launch, groups), join);
  return run.run();
}

}  // namespace assay::runtime::simulated
