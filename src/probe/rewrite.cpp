#include "probe/rewrite.h"

#include <algorithm>
#include <optional>

#include "probe/stats.h"

namespace assay::probe {
namespace {

using hwdesc::WritePolicy;

constexpr double kShows = 1.2;               // cold over warm: the two are told apart
constexpr double kClear = 2;                 // times what the samples differ by
constexpr double kWarm = 0.35, kCold = 0.65; // of the way from warm to cold

struct Reading {
  double seconds = 0, spread = 0;
};

// Of the reading at the end of `with`, by the difference to `without`. Nothing, or less, where it hides behind what was
// still on its way.
std::optional<Reading> reading(const Observations& all, double level, const char* with, const char* without) {
  const auto a = summarize(select(all, "rewrite", with, {{"level", level}}), Estimator::latency);
  const auto b = summarize(select(all, "rewrite", without, {{"level", level}}), Estimator::latency);
  if (!a || !b) return std::nullopt;
  return Reading{a->value - b->value, a->high - a->low + b->high - b->low};
}

}  // namespace

WritePolicy write_policy_of(const Observations& all, size_t level) {
  const auto i = double(level);
  const auto cold = reading(all, i, "cold", "others"), warm = reading(all, i, "warm", "cold");
  const auto written = reading(all, i, "written", "write"), updated = reading(all, i, "updated", "update");
  if (!cold || !warm || !written || !updated) return WritePolicy::unknown;
  const double step = cold->seconds - warm->seconds;
  const double spread = std::max({cold->spread, warm->spread, written->spread, updated->spread});
  if (cold->seconds < kShows * warm->seconds || step < kClear * spread) return WritePolicy::unknown;
  const auto part = [&](const Reading& r) { return (r.seconds - warm->seconds) / step; };
  if (part(*written) < kWarm) return WritePolicy::allocate;
  if (part(*written) < kCold) return WritePolicy::unknown;
  if (part(*updated) < kWarm) return WritePolicy::through;
  return part(*updated) > kCold ? WritePolicy::around : WritePolicy::unknown;
}

}  // namespace assay::probe
