#include "probe/spill.h"

#include <algorithm>
#include <fmt/format.h>

#include "probe/values.h"

namespace assay::probe {

using namespace hwdesc;

Value<Latency> spill_of(const std::vector<LiveTime>& times, double fit_least, double fit_most, double ticks) {
  const LiveTime *inside = nullptr, *beyond = nullptr;
  for (const LiveTime& t : times) {
    if (t.values <= fit_least && (inside == nullptr || t.step.value < inside->step.value)) inside = &t;
    if (t.values > fit_most && (beyond == nullptr || t.values > beyond->values)) beyond = &t;
  }
  if (inside == nullptr || beyond == nullptr) return unknown_value<Latency>("no kernel with more values than registers was measured beside one with room for all");
  const double in_ticks = ticks > 0 ? ticks : 1;
  const auto longer = [&](double with, double without, double fit) { return in_ticks * beyond->values * (with - without) / (beyond->values - fit); };
  const double low = longer(beyond->step.low, inside->step.high, fit_least);
  if (low <= 0) return unknown_value<Latency>("values without a register take no longer, as much as times differ");
  const Measured m{longer(beyond->step.value, inside->step.value, (fit_least + fit_most) / 2), low, longer(beyond->step.high, inside->step.low, fit_most), beyond->step.n, ""};
  return latency_value(m, ticks > 0 ? kCore : "",
                       fmt::format("{:.0f} values live against {:.0f}, per value without a register", beyond->values, inside->values));
}

}  // namespace assay::probe
