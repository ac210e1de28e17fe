// Power without work, and what a multiply-add adds to it.
#include "probe/inference/infer.h"
#include "probe/inference/values.h"
#include "support/number.h"

namespace assay::probe {

using namespace hwdesc;

void infer_power(const Observations& all, Profile& to) {
  const auto idle = summarize(select(all, "power", "idle"), Estimator::latency);
  const auto load = summarize(select(all, "power", "fma"), Estimator::throughput),
             rate = summarize(select(all, "power", "fma_rate"), Estimator::throughput);
  const std::string why =
      all.fact("no_energy").empty() ? "power was not measured" : all.fact("no_energy");
  if (!idle) {
    to.power.idle = unknown_value<Watts>(why);
    return;
  }
  to.power.idle = known_value(Watts{rounded_to(idle->value, 3)}, Origin::measured,
                              all.fact("class") == "cpu"
                                  ? "the packages' energy counter, while nothing of ours ran"
                                  : "the board's energy counter, while nothing of ours ran");
  if (load && rate && load->value > idle->value)
    to.power.energy.emplace_back(
        "fma.f32",
        known_value(Joules{rounded_to((load->value - idle->value) / rate->value, 3)},
                    Origin::measured,
                    "the same with multiply-adds on all units, less idle, for each of them"));
}

}  // namespace assay::probe
