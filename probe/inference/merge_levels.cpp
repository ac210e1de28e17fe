#include "probe/inference/merge_levels.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/inference/knee.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kSlower = 0.95;  // of the nearer level's bandwidth: a smaller difference is noise

struct Scale {
  double core_hz = 0, units = 1;
  double seconds(const Latency& l) const { return l.clock.empty() ? l.v : l.v / core_hz; }
  double total(const MemoryLevel& level, const Bandwidth& b) const {
    return b.v * (b.clock.empty() ? 1 : core_hz) * (level.per == "unit" ? units : 1);
  }
};

constexpr double kSharp = 1.25;   // from the step's beginning to its end
constexpr double kClearly = 1.8;  // times the latency

struct Steps {
  bool count = true;  // false: co-tenants made them
  std::vector<CurvePoint> chase;
};

// Does the curve rise clearly between close footprints?
bool jumps(const std::vector<CurvePoint>& chase, double from, double to) {
  for (size_t i = 0; i < chase.size(); ++i)
    for (size_t j = i + 1; j < chase.size() && chase[i].bytes >= from && chase[j].bytes <= to &&
                           chase[j].bytes < kSharp * chase[i].bytes;
         ++j)
      if (chase[j].seconds > kClearly * chase[i].seconds) return true;
  return false;
}

// A step as sharp as this one separates two caches, which may well be equally fast.
bool clear_step(const MemoryLevel& near, const MemoryLevel& far, const Scale& s,
                const Steps& steps) {
  if (!steps.count || !near.knee.from.known() || !near.knee.to.known() || !near.latency.known() ||
      !far.latency.known())
    return false;
  const double from = near.knee.from.value->v, to = near.knee.to.value->v;
  return (to < kSharp * from &&
          s.seconds(*far.latency.value) > kClearly * s.seconds(*near.latency.value)) ||
         jumps(steps.chase, from, to);
}

bool indistinct(const MemoryLevel& near, const MemoryLevel& far, const Scale& s,
                const Steps& steps) {
  if (near.latency.known() && far.latency.known() &&
      s.seconds(*far.latency.value) < kMinStep * s.seconds(*near.latency.value))
    return true;
  if (!near.bandwidth.read.known() || clear_step(near, far, s, steps)) return false;
  if (!far.bandwidth.read.known()) return true;
  return s.total(far, *far.bandwidth.read.value) >
         kSlower * s.total(near, *near.bandwidth.read.value);
}

// A sweep that streams through both sees no step.
bool alike(const std::vector<MemoryLevel>& memory, size_t near, const Sweep& sweep, const Scale& s,
           const Steps& steps) {
  if (memory[near].per == "unit" || memory[near].per != memory[near + 1].per) return false;
  if (clear_step(memory[near], memory[near + 1], s, steps)) return false;
  const std::vector<double> times = plateau_times(memory, sweep);
  return times[near] > 0 && times[near + 1] > 0 && times[near + 1] < kVisibleStep * times[near];
}

bool has_more(const MemoryLevel& a, const MemoryLevel& b, const Scale& s) {
  if (!a.bandwidth.read.known() || !b.bandwidth.read.known()) return a.bandwidth.read.known();
  return s.total(a, *a.bandwidth.read.value) >= s.total(b, *b.bandwidth.read.value);
}

MemoryLevel join(const MemoryLevel& near, const MemoryLevel& far, const Scale& s) {
  MemoryLevel out = has_more(near, far, s) ? near : far;  // its bandwidths, and `per`
  out.name = near.name;
  out.capacity = far.capacity;
  if (near.capacity.low) out.capacity.low = near.capacity.low;
  out.capacity.note = fmt::format(
      "{}{}a smeared knee: the latency curve has a step near {:.1f} MiB that bandwidth does not "
      "show",
      far.capacity.note, far.capacity.note.empty() ? "" : "; ",
      near.capacity.known() ? near.capacity.value->v / (1 << 20) : 0.0);
  out.knee.from = near.knee.from;
  out.knee.to = far.knee.to;
  out.latency = near.latency;
  if (far.latency.known() && out.latency.known() && far.latency.high)
    out.latency.high = far.latency.high;
  out.write = far.write;
  return out;
}

bool joinable(const MemoryLevel& l) { return l.managed == Managed::automatic; }

constexpr double kAsSlow = 0.9;  // of the next level's latency: no cache is that slow

// Lines that co-tenants evicted during the measurement came from the next level.
void drop_disturbed_latencies(std::vector<MemoryLevel>& memory, const Scale& s) {
  for (size_t i = 0; i + 1 < memory.size(); ++i) {
    MemoryLevel& l = memory[i];
    const MemoryLevel& beyond = memory[i + 1];
    if (!joinable(l) || !l.latency.known() || !beyond.latency.known()) continue;
    const double own = s.seconds(*l.latency.value), others = s.seconds(*beyond.latency.value);
    if (own < kAsSlow * others) continue;
    l.latency = {};
    l.latency.note = fmt::format(
        "{:.0f} ns were measured, and {:.0f} ns of what lies beyond: others used the cache "
        "meanwhile, or it had not settled",
        own * 1e9, others * 1e9);
  }
}

}  // namespace

void join_levels(std::vector<MemoryLevel>& memory, double core_hz, double units, const Sweep& sweep,
                 size_t declared, std::span<const CurvePoint> chase) {
  const Scale s{core_hz, units};
  const Steps steps{declared == 0,
                    rising(chase)};  // more caches than declared: co-tenants made the step
  const auto caches = [&] {
    return static_cast<size_t>(std::count_if(memory.begin(), memory.end(), joinable));
  };
  for (size_t i = 0; core_hz > 0 && i + 1 < memory.size() && caches() > declared;) {
    if (!joinable(memory[i]) || !joinable(memory[i + 1]) ||
        (!indistinct(memory[i], memory[i + 1], s, steps) && !alike(memory, i, sweep, s, steps))) {
      ++i;
      continue;
    }
    memory[i] = join(memory[i], memory[i + 1], s);
    memory.erase(memory.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  for (size_t i = 0; i < memory.size(); ++i)
    if (joinable(memory[i])) memory[i].name = fmt::format("l{}", i + 1);
  if (core_hz > 0) drop_disturbed_latencies(memory, s);
}

}  // namespace assay::probe
