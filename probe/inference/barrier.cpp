// A barrier among groups inside one kernel.
#include <fmt/format.h>

#include "probe/inference/infer.h"
#include "probe/inference/values.h"

namespace assay::probe {

using namespace hwdesc;

void infer_barrier(const Observations& all, const Known& known, Profile& to) {
  if (!known.threads || to.apis.empty()) return;
  Api& api = to.apis[0];
  const std::vector<Observation> met = select(all, "barrier", "device"),
                                 gave_up = select(all, "barrier", "gave_up");
  std::vector<Observation> both = met;
  both.insert(both.end(), gave_up.begin(), gave_up.end());
  for (const double n : values_of(both, "groups")) {
    BarrierPoint p;
    p.groups = known_value(Count{n}, Origin::measured, "");
    const auto s =
        summarize(select(all, "barrier", "device", {{"groups", n}}), Estimator::throughput);
    if (s && s->low <= 0)
      p.time = unknown_value<Seconds>(
          "launches of many barriers take no longer than those of two, as much as launches differ");
    else if (s)
      p.time = seconds_value(
          scaled(*s, 1),
          "groups that each add one to a number and look until all have: many barriers less two");
    else
      p.time = unknown_value<Seconds>(
          fmt::format("not all groups had come when one had looked {:.0f} times",
                      select(all, "barrier", "gave_up", {{"groups", n}}).back().samples.at(0)));
    api.coresident_barrier.push_back(std::move(p));
  }
  if (!api.device_barrier.known())
    api.device_barrier = unknown_value<Seconds>(
        both.empty()
            ? "every step of a plan is a launch of its own; barriers among groups did not run"
            : "every step of a plan is a launch of its own; `coresident_barrier` is what one "
              "kernel would need");
}

}  // namespace assay::probe
