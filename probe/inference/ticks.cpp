#include "probe/inference/ticks.h"

#include <cmath>

#include "probe/inference/stats.h"

namespace assay::probe {
namespace {

// An addition takes whole ticks. It looks a little longer where the chip runs below the driver's
// clock, which is the highest, and shorter only by errors of measurement.
constexpr double kNearWhole = 0.04, kMeasured = 0.01;

double ticks_per_step(const Observations& all) {
  const std::string said = all.fact("clock_hz");
  // A neighbour may have held the clock down during all of that experiment, and not of the others.
  const double own = clock_of(select(all, "clock", "sentinel")), beside = clock_of(all.points),
               steps = own > kOneClock * beside || own <= 0 ? own : beside;
  if (said.empty() || steps <= 0) return 0;
  const double ticks = std::stod(said) / steps, whole = std::round(ticks);
  return whole >= 1 && ticks < whole * (1 + kNearWhole) && ticks > whole * (1 - kMeasured) ? whole
                                                                                           : ticks;
}

}  // namespace

Observations with_ticks(Observations all) {
  if (all.fact("lanes") != "threads") return all;
  const double ticks = ticks_per_step(all);
  std::erase_if(all.points, [&](const Observation& o) {
    return ticks <= 0 && (o.experiment == "clock" || o.experiment == "sustained");
  });
  for (Observation& o : all.points) {
    if (o.clock_hz && ticks > 0)
      *o.clock_hz *= ticks;
    else
      o.clock_hz.reset();
    if (o.experiment == "clock" || o.experiment == "sustained")
      for (double& s : o.samples) s /= ticks;
  }
  return all;
}

}  // namespace assay::probe
