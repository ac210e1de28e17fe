#include "runtime/cpu/scheduled.h"

#include <algorithm>
#include <limits>
#include <map>

#include "runtime/schedule.h"

namespace assay::runtime::cpu {
namespace {

using Kind = ir::Command::Kind;

struct Counter {
  Signal signal{kTaskSpinSeconds};
  uint32_t each = 0;  // signals of a repeat
};

// A unit's queue: a row for each command. Of a signal, a wait or a barrier the entry is null, then
// come its kind, the counter and the value.
struct UnitQueue {
  std::vector<int> commands;  // positions in the schedule
  Rows rows{0, 0};
};

struct Ready {
  std::vector<UnitQueue> of_unit;
  std::map<int, Counter> counters;
};

UnitQueue queue_of(std::span<const ir::Command> schedule, std::span<const Call> calls, int unit,
                   std::map<int, Counter>& counters) {
  UnitQueue out;
  size_t slots = 4;
  for (size_t i = 0; i < schedule.size(); ++i) {
    const ir::Command& c = schedule[i];
    if (unit < c.first || unit >= c.last) continue;
    if (c.kind == Kind::run) {
      const auto [begin, end] = ir::groups_of(c, unit);
      if (begin >= end) continue;
      slots = std::max(slots, slots_of(calls[static_cast<size_t>(c.step)], 1));
    }
    out.commands.push_back(static_cast<int>(i));
  }
  out.rows = Rows(out.commands.size(), slots);
  for (size_t r = 0; r < out.commands.size(); ++r) {
    const ir::Command& c = schedule[static_cast<size_t>(out.commands[r])];
    Slot* to = out.rows.slots(r);
    if (c.kind == Kind::run) {
      const auto [begin, end] = ir::groups_of(c, unit);
      const GroupRange range{begin, end};
      write_row(calls[static_cast<size_t>(c.step)], std::span(&range, 1), to);
      continue;
    }
    (to++)->entry = nullptr;
    (to++)->number = static_cast<int64_t>(c.kind);
    (to++)->pointer = c.counter < 0 ? nullptr : &counters[c.counter];
    to->number = c.value;
  }
  return out;
}

Result<Ready> ready_of(std::span<const Launch> launches, std::span<const LoadedKernel> kernels,
                       std::span<const Memory> buffers, std::span<const ir::Command> schedule,
                       int units) {
  const Result<std::vector<Call>> calls = resolve_calls(launches, kernels, buffers);
  if (!calls) return calls.diags();
  std::vector<int64_t> groups;
  for (const Call& c : *calls) groups.push_back(c.groups);
  if (Diags faults = check_schedule(schedule, groups, units); !faults.empty()) return faults;
  Ready out;
  for (const ir::Command& c : schedule) {
    if (c.counter < 0) continue;
    const int signals = c.kind == Kind::signal ? c.last - c.first : 0;
    out.counters[c.counter].each += static_cast<uint32_t>(signals);
  }
  for (int u = 0; u < units_of(schedule); ++u)
    out.of_unit.push_back(queue_of(schedule, *calls, u, out.counters));
  return out;
}

// Shared by the running units. Only unit 0 writes it, before it arrives at a barrier.
struct Stop {
  std::atomic<size_t> at{std::numeric_limits<size_t>::max()};  // the repeat before which all leave
};

struct Timeline {                // of one unit
  std::vector<double> arrived;   // at the barrier before each repeat, and behind the last
  std::vector<double> boundary;  // traced: before each command, per repeat, and behind the last
  std::vector<char> left_out;    // per launch
};

class UnitRun {  // invariant: refers to parts of one run that outlive it
 public:
  UnitRun(Pool& pool, int unit, const UnitQueue& queue, std::byte* scratch,
          const RunOptions& options, Stop& stop, Timeline& timeline)
      : pool_(pool),
        unit_(unit),
        queue_(queue),
        scratch_(scratch),
        options_(options),
        stop_(stop),
        timeline_(timeline) {}

  void run() {
    const size_t warm_up = static_cast<size_t>(options_.warm_up),
                 repeats = warm_up + static_cast<size_t>(options_.repeat);
    for (size_t repeat = 0;; ++repeat) {
      if (repeat >= warm_up) timeline_.arrived[repeat - warm_up] = now_seconds();
      if (repeat == repeats) return;
      if (unit_ == 0 && options_.cancel != nullptr &&
          options_.cancel->load(std::memory_order_relaxed))
        stop_.at.store(repeat);
      pool_.barrier().wait();
      if (stop_.at.load(std::memory_order_relaxed) <= repeat) return;
      once(static_cast<uint32_t>(repeat),
           options_.traced && repeat >= warm_up
               ? &timeline_.boundary[(repeat - warm_up) * (queue_.commands.size() + 1)]
               : nullptr);
    }
  }

 private:
  void once(uint32_t repeat, double* boundary) {
    const size_t rows = queue_.commands.size();
    for (size_t i = 0; i < rows; ++i) {
      if (boundary != nullptr) *boundary++ = now_seconds();
      const Row row = queue_.rows[i];
      if (row.entry() == nullptr) {
        synchronise(static_cast<const Slot*>(row.address()), repeat);
        continue;
      }
      if (!row.is_needed()) {
        const ir::Command& c = options_.schedule[static_cast<size_t>(queue_.commands[i])];
        timeline_.left_out[static_cast<size_t>(c.step)] = 1;
        continue;
      }
      const GroupRange r = row.range(0);
      row.entry()(row.arguments(), scratch_, r.begin, r.end);
    }
    if (boundary != nullptr) *boundary = now_seconds();
  }

  void synchronise(const Slot* slots, uint32_t repeat) {
    auto* counter = static_cast<Counter*>(slots[2].pointer);
    switch (static_cast<Kind>(slots[1].number)) {
      case Kind::signal:
        return counter->signal.advance();
      case Kind::wait:
        return counter->signal.wait_for(repeat * counter->each +
                                        static_cast<uint32_t>(slots[3].number));
      case Kind::barrier:
        return pool_.barrier().wait();
      case Kind::run:
        return;
    }
  }

  Pool& pool_;
  const int unit_;
  const UnitQueue& queue_;
  std::byte* const scratch_;
  const RunOptions& options_;
  Stop& stop_;
  Timeline& timeline_;
};

RunTimes times_of(std::span<const Timeline> timelines, const Ready& ready,
                  const RunOptions& options, size_t launches) {
  RunTimes times;
  const auto repeats = static_cast<size_t>(options.repeat);
  std::vector<double> boundary(repeats + 1);
  for (const Timeline& t : timelines)
    for (size_t r = 0; r <= repeats; ++r) boundary[r] = std::max(boundary[r], t.arrived[r]);
  for (size_t r = 0; r < repeats; ++r) {
    times.total.push_back(boundary[r + 1] - boundary[r]);
    if (!options.traced) continue;
    times.slices.clear();
    for (size_t u = 0; u < timelines.size(); ++u) {
      const std::vector<int>& commands = ready.of_unit[u].commands;
      const double* at = &timelines[u].boundary[r * (commands.size() + 1)];
      for (size_t i = 0; i < commands.size(); ++i)
        times.slices.push_back(
            {static_cast<int>(u), commands[i], at[i] - boundary[r], at[i + 1] - boundary[r]});
    }
    add_steps(times, times.slices, options.schedule, launches);
  }
  for (const Timeline& t : timelines) note_left_out(times, t.left_out);
  return times;
}

}  // namespace

Result<RunTimes> run_schedule(Pool& pool, std::span<const Launch> launches,
                              std::span<const LoadedKernel> kernels,
                              std::span<const Memory> buffers, std::span<const Memory> scratch,
                              const RunOptions& options) {
  if (options.repeat < 0 || options.warm_up < 0)
    return error("repeat and warm_up can not be negative");
  const Result<Ready> ready = ready_of(launches, kernels, buffers, options.schedule, pool.size());
  if (!ready) return ready.diags();
  std::vector<Timeline> timelines(ready->of_unit.size());
  const auto repeats = static_cast<size_t>(options.repeat);
  for (size_t u = 0; u < timelines.size(); ++u) {
    timelines[u].arrived.assign(repeats + 1, 0.0);
    timelines[u].left_out.assign(launches.size(), 0);
    if (options.traced)
      timelines[u].boundary.assign(repeats * (ready->of_unit[u].commands.size() + 1), 0.0);
  }
  Stop stop;
  pool.run(static_cast<int>(timelines.size()), [&](int unit) {
    const auto u = static_cast<size_t>(unit);
    UnitRun(pool, unit, ready->of_unit[u], scratch[u].bytes().data(), options, stop, timelines[u])
        .run();
  });
  if (stop.at.load() != std::numeric_limits<size_t>::max()) return error("cancelled");
  return times_of(timelines, *ready, options, launches.size());
}

}  // namespace assay::runtime::cpu
