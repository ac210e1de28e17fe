#include "runtime/cpu/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace assay::runtime::cpu {
namespace {

std::string where(size_t launch) { return fmt::format("launch {}: ", launch); }

struct Resolved {
  Call call;
  std::vector<std::vector<GroupRange>> of_unit;
};

struct Resolver {
  std::span<const LoadedKernel> kernels;
  std::span<const Memory> buffers;
  Diags diags{};

  void fail(size_t launch, const std::string& what) {
    diags.push_back(error(where(launch) + what));
  }

  void* argument(size_t launch, const ir::Buffer& wanted, const BufferRange& range) {
    return inside(launch, fmt::format("argument '{}'", wanted.name),
                  wanted.elements * ir::bytes_of(wanted.dtype), range);
  }

  void* inside(size_t launch, const std::string& what, int64_t needed, const BufferRange& range) {
    if (range.buffer < 0 || static_cast<size_t>(range.buffer) >= buffers.size()) {
      fail(launch,
           fmt::format("{} names buffer {}, there are {}", what, range.buffer, buffers.size()));
      return nullptr;
    }
    const auto bytes = buffers[static_cast<size_t>(range.buffer)].bytes();
    const int64_t size = static_cast<int64_t>(bytes.size());
    if (range.offset < 0 || needed > size || range.offset > size - needed) {
      fail(launch, fmt::format("{} needs {} bytes at {}, buffer {} has {}", what, needed,
                               range.offset, range.buffer, size));
      return nullptr;
    }
    return bytes.data() + range.offset;
  }

  std::vector<std::vector<GroupRange>> queues(size_t index, const Launch& launch, int64_t groups,
                                              int units) {
    std::vector<std::vector<GroupRange>> of_unit(static_cast<size_t>(units));
    for (int u = 0; launch.queues.empty() && u < units; ++u)
      if (const GroupRange r{groups * u / units, groups * (u + 1) / units}; r.begin < r.end)
        of_unit[static_cast<size_t>(u)].push_back(r);
    for (const ir::Queue& q : launch.queues) {
      if (q.unit < 0 || q.unit >= units)
        fail(index, fmt::format("a queue is for unit {}, there are {}", q.unit, units));
      else if (q.begin < 0 || q.end > groups || q.begin > q.end)
        fail(index, fmt::format("a queue holds groups {} to {} of {}", q.begin, q.end, groups));
      else if (q.begin < q.end)
        of_unit[static_cast<size_t>(q.unit)].push_back({q.begin, q.end});
    }
    return of_unit;
  }

  Call call(size_t index, const Launch& launch) {
    Call out;
    if (launch.kernel < 0 || static_cast<size_t>(launch.kernel) >= kernels.size()) {
      fail(index,
           fmt::format("there is no kernel {}, there are {}", launch.kernel, kernels.size()));
      return out;
    }
    const LoadedKernel& k = kernels[static_cast<size_t>(launch.kernel)];
    out.entry = k.entry;
    std::vector<const ir::Buffer*> wanted;
    for (const ir::Buffer& b : k.kernel.buffers)
      if (b.scope == ir::Scope::global) wanted.push_back(&b);
    if (wanted.size() != launch.arguments.size())
      fail(index, fmt::format("kernel '{}' takes {} arguments, not {}", k.kernel.name,
                              wanted.size(), launch.arguments.size()));
    for (size_t i = 0; i < std::min(wanted.size(), launch.arguments.size()); ++i)
      out.arguments.push_back(argument(index, *wanted[i], launch.arguments[i]));
    out.groups = k.kernel.groups;
    if (const auto& needed = launch.needed_if) {
      out.condition = inside(index, "its condition", needed->bytes, needed->from);
      out.condition_bytes = needed->bytes;
      out.condition_value = needed->value;
    }
    return out;
  }
};

Rows rows_of(std::span<const Resolved> launches, size_t unit) {
  size_t slots = 0;
  for (const Resolved& l : launches)
    slots = std::max(slots, slots_of(l.call, l.of_unit[unit].size()));
  Rows out(launches.size(), slots);
  for (size_t i = 0; i < launches.size(); ++i)
    write_row(launches[i].call, launches[i].of_unit[unit], out.slots(i));
  return out;
}

// Shared by the running units. Only unit 0 writes it, before it arrives at a barrier.
struct Stop {
  std::atomic<size_t> at{
      std::numeric_limits<size_t>::max()};  // the step after which all units leave
};

struct Timeline {
  std::vector<double> arrived;  // one unit's times at the boundaries
  std::vector<char> left_out;   // per launch
};

void run_unit(Pool& pool, int unit, const ReadyLaunches& ready, std::byte* scratch,
              const RunOptions& options, Stop& stop, Timeline& timeline) {
  const Rows& rows = ready.of_unit[static_cast<size_t>(unit)];
  const size_t first_timed = static_cast<size_t>(options.warm_up) * ready.count;
  const size_t steps = first_timed + static_cast<size_t>(options.repeat) * ready.count;
  for (size_t step = 0;; ++step) {
    const Row row = rows[ready.count == 0 ? 0 : step % ready.count];
    __builtin_prefetch(row.address());  // overlaps with waiting at the barrier
    if (step >= first_timed) timeline.arrived[step - first_timed] = now_seconds();
    if (step == steps) return;
    if (unit == 0 && options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed))
      stop.at.store(step);
    pool.barrier().wait();
    if (stop.at.load(std::memory_order_relaxed) <= step) return;
    if (!row.is_needed()) {
      timeline.left_out[step % ready.count] = 1;
      continue;
    }
    for (size_t i = 0; i < row.ranges(); ++i) {
      const GroupRange r = row.range(i);
      row.entry()(row.arguments(), scratch, r.begin, r.end);
    }
  }
}

RunTimes times_of(std::span<const Timeline> timelines, size_t count, size_t repeats) {
  RunTimes times;
  std::vector<double> boundary(count * repeats + 1);
  for (const Timeline& t : timelines)
    for (size_t i = 0; i < boundary.size(); ++i) boundary[i] = std::max(boundary[i], t.arrived[i]);
  for (size_t r = 0; r < repeats; ++r) {
    std::vector<double> steps(count);
    for (size_t s = 0; s < count; ++s)
      steps[s] = boundary[r * count + s + 1] - boundary[r * count + s];
    times.busy.push_back(steps);
    times.steps.push_back(std::move(steps));
    times.total.push_back(boundary[(r + 1) * count] - boundary[r * count]);
  }
  note_left_out(times, timelines[0].left_out);
  return times;
}

}  // namespace

void note_left_out(RunTimes& times, std::span<const char> left_out) {
  times.left_out.resize(left_out.size(), false);
  for (size_t i = 0; i < left_out.size(); ++i)
    if (left_out[i] != 0) times.left_out[i] = true;
  if (std::ranges::find(times.left_out, true) == times.left_out.end()) times.left_out.clear();
}

size_t slots_of(const Call& call, size_t ranges) { return 3 + 2 * ranges + call.arguments.size(); }

void write_row(const Call& call, std::span<const GroupRange> ranges, Slot* to) {
  (to++)->entry = call.entry;
  (to++)->head = {static_cast<uint32_t>(ranges.size()), static_cast<uint16_t>(call.condition_bytes),
                  static_cast<uint16_t>(call.condition_value)};
  (to++)->pointer = call.condition;
  for (const GroupRange& r : ranges) {
    (to++)->number = r.begin;
    (to++)->number = r.end;
  }
  for (void* a : call.arguments) (to++)->pointer = a;
}

Result<std::vector<Call>> resolve_calls(std::span<const Launch> launches,
                                        std::span<const LoadedKernel> kernels,
                                        std::span<const Memory> buffers) {
  Resolver r{kernels, buffers};
  std::vector<Call> out;
  for (size_t i = 0; i < launches.size(); ++i) out.push_back(r.call(i, launches[i]));
  if (has_error(r.diags)) return std::move(r.diags);
  return out;
}

Result<ReadyLaunches> resolve(std::span<const Launch> launches,
                              std::span<const LoadedKernel> kernels,
                              std::span<const Memory> buffers, int units) {
  Resolver r{kernels, buffers};
  std::vector<Resolved> all;
  for (size_t i = 0; i < launches.size(); ++i) {
    all.push_back({r.call(i, launches[i]), {}});
    if (all.back().call.entry != nullptr)
      all.back().of_unit = r.queues(i, launches[i], all.back().call.groups, units);
  }
  if (has_error(r.diags)) return std::move(r.diags);
  size_t participating = 1;
  for (const Resolved& l : all)
    for (size_t u = 0; u < l.of_unit.size(); ++u)
      if (!l.of_unit[u].empty()) participating = std::max(participating, u + 1);
  ReadyLaunches out;
  out.count = all.size();
  for (size_t u = 0; u < participating; ++u) out.of_unit.push_back(rows_of(all, u));
  return out;
}

Result<RunTimes> run_launches(Pool& pool, const ReadyLaunches& ready,
                              std::span<const Memory> scratch, const RunOptions& options) {
  if (options.repeat < 0 || options.warm_up < 0)
    return error("repeat and warm_up can not be negative");
  const size_t repeats = static_cast<size_t>(options.repeat);
  std::vector<Timeline> timelines(ready.of_unit.size());
  for (Timeline& t : timelines) {
    t.arrived.assign(ready.count * repeats + 1, 0.0);
    t.left_out.assign(ready.count, 0);
  }
  Stop stop;
  pool.run(static_cast<int>(timelines.size()), [&](int unit) {
    const auto u = static_cast<size_t>(unit);
    run_unit(pool, unit, ready, scratch[u].bytes().data(), options, stop, timelines[u]);
  });
  if (stop.at.load() != std::numeric_limits<size_t>::max()) return error("cancelled");
  return times_of(timelines, ready.count, repeats);
}

}  // namespace assay::runtime::cpu
