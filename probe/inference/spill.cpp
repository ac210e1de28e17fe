#include "probe/inference/spill.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/inference/values.h"

namespace assay::probe {

using namespace hwdesc;

namespace {
constexpr double kSame = 0.01;  // of a step: two kernels' clocks differ by as much, however
                                // close each one's samples are
}

Value<Latency> spill_of(const std::vector<LiveTime>& times, double fit_least, double fit_most,
                        double ticks) {
  const LiveTime *inside = nullptr, *beyond = nullptr;
  for (const LiveTime& t : times) {
    if (t.values <= fit_least && (inside == nullptr || t.step.value < inside->step.value))
      inside = &t;
    if (t.values > fit_most && (beyond == nullptr || t.values > beyond->values)) beyond = &t;
  }
  if (inside == nullptr || beyond == nullptr)
    return unknown_value<Latency>(
        "no kernel with more values than registers was measured beside one with room for all");
  const double in_ticks = ticks > 0 ? ticks : 1;
  const auto longer = [&](double with, double without, double fit) {
    return in_ticks * beyond->values * (with - without) / (beyond->values - fit);
  };
  const double low =
      longer((1 - kSame) * beyond->step.low, (1 + kSame) * inside->step.high, fit_least);
  if (low <= 0)
    return unknown_value<Latency>(
        "values without a register take no longer, as much as times differ");
  const Measured m{
      longer(beyond->step.value, inside->step.value, (fit_least + fit_most) / 2), low,
      longer((1 + kSame) * beyond->step.high, (1 - kSame) * inside->step.low, fit_most),
      beyond->step.n, ""};
  return latency_value(
      m, ticks > 0 ? kCore : "",
      fmt::format("{:.0f} values live against {:.0f}, per value without a register", beyond->values,
                  inside->values));
}

}  // namespace assay::probe
