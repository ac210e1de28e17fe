#include "probe/inference/write_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "probe/inference/stats.h"
#include "probe/inference/values.h"
#include "support/number.h"

namespace assay::probe {
namespace {

using hwdesc::WritePolicy;

constexpr double kVisibleStep = 1.2;          // least cold over warm
constexpr double kClear = 2;                  // times the samples' spread
constexpr double kWarm = 0.35, kCold = 0.65;  // of the difference from warm to cold

struct Reading {
  double seconds = 0, spread = 0;
};

// Time of the read at the end of `with`, by the difference to `without`. Zero or less where it
// overlaps with earlier transfers.
std::optional<Reading> reading(const Observations& all, double level, const char* with,
                               const char* without) {
  const auto a =
      summarize(select(all, "write_policy", with, {{"level", level}}), Estimator::latency);
  const auto b =
      summarize(select(all, "write_policy", without, {{"level", level}}), Estimator::latency);
  if (!a || !b) return std::nullopt;
  return Reading{a->value - b->value, a->high - a->low + b->high - b->low};
}

}  // namespace

WritePolicy write_policy_of(const Observations& all, size_t level) {
  const auto i = double(level);
  const auto cold = reading(all, i, "cold", "others"), warm = reading(all, i, "warm", "cold");
  const auto written = reading(all, i, "written", "write"),
             updated = reading(all, i, "updated", "update");
  if (!cold || !warm || !written || !updated) return WritePolicy::unknown;
  const double step = cold->seconds - warm->seconds;
  const double spread = std::max({cold->spread, warm->spread, written->spread, updated->spread});
  if (cold->seconds < kVisibleStep * warm->seconds || step < kClear * spread)
    return WritePolicy::unknown;
  const auto part = [&](const Reading& r) { return (r.seconds - warm->seconds) / step; };
  if (part(*written) < kWarm) return WritePolicy::allocate;
  if (part(*written) < kCold) return WritePolicy::unknown;
  if (part(*updated) < kWarm) return WritePolicy::through;
  return part(*updated) > kCold ? WritePolicy::around : WritePolicy::unknown;
}

void raise_write_bandwidth(std::vector<hwdesc::MemoryLevel>& memory, double core_hz, double units) {
  using hwdesc::Bandwidth;
  const auto of_all = [&](const hwdesc::MemoryLevel& l, const Bandwidth& b) {
    return (b.clock.empty() ? 1 : core_hz) * (l.per == "unit" ? units : 1);
  };
  for (size_t i = memory.size();
       i-- > 1;) {  // the farther one first, since the nearer depends on it
    const hwdesc::MemoryLevel& next = memory[i];
    hwdesc::MemoryLevel& l = memory[i - 1];
    hwdesc::Value<Bandwidth> taken = next.bandwidth.write;
    if (l.write == WritePolicy::allocate || !taken.known() || !l.bandwidth.write.known()) continue;
    const Bandwidth own = *l.bandwidth.write.value;
    if (of_all(l, own) <= 0) continue;
    const double factor = of_all(next, *taken.value) / of_all(l, own);
    if (factor * taken.value->v <= own.v) continue;
    for (std::optional<Bandwidth>* v : {&taken.value, &taken.low, &taken.high})
      if (*v) *v = Bandwidth{rounded_to((*v)->v * factor, 4), own.clock};
    taken.source = hwdesc::Origin::derived;
    taken.method = fmt::format("what {} takes: such stores pass it, too", next.name);
    l.bandwidth.write = std::move(taken);
  }
}

}  // namespace assay::probe
