#include "simulator/unit_cost.h"

#include <algorithm>
#include <array>

#include "model/residual.h"

namespace assay::simulator {

double composed(const UnitCost& c, double together) {
  const double loads = c.load - c.copied_load, stores = c.store - c.copied_store;
  const std::array<double, 2> both = {loads, stores};
  const double moving =
      std::max(model::joined(both, model::kMovingSharpness), together * (loads + stores));
  const std::array<double, 2> operating = {c.vector, moving};
  const std::array<double, 5> computing = {model::joined(operating, model::kPortSharpness),
                                           c.issue - c.copied_issue, c.chain, c.translation,
                                           c.sets};
  const std::array<double, 3> copying = {c.copied_load, c.copied_store, c.copied_issue};
  const double in_core =
      model::joined(computing, model::kOverlapSharpness) +
      std::max(model::joined(copying, model::kOverlapSharpness), c.copied_sets - c.copied_near);
  const std::array<double, 2> parts = {std::max(c.streaming, in_core + c.near + c.far),
                                       c.contended};
  return model::joined(parts, model::kContendedSharpness);
}

}  // namespace assay::simulator
