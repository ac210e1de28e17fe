#include "simulator/unit_cost.h"

#include <algorithm>
#include <array>

#include "model/residual.h"

namespace assay::simulator {

double ecm_time(const UnitCost& c, double serialisation) {
  const double loads = c.load - c.copied_load, stores = c.store - c.copied_store;
  const std::array<double, 2> both = {loads, stores};
  const double moving =
      std::max(model::p_norm(both, model::kLoadStoreExponent), serialisation * (loads + stores));
  const std::array<double, 2> operating = {c.vector, moving};
  const std::array<double, 5> computing = {model::p_norm(operating, model::kPortExponent),
                                           c.issue - c.copied_issue, c.chain, c.tlb,
                                           c.set_conflicts};
  const std::array<double, 3> copying = {c.copied_load, c.copied_store, c.copied_issue};
  const double in_core = model::p_norm(computing, model::kOverlapExponent) +
                         std::max(model::p_norm(copying, model::kOverlapExponent),
                                  c.copied_set_conflicts - c.copied_non_overlap);
  const std::array<double, 2> parts = {
      std::max(c.transfers, in_core + c.private_non_overlap + c.shared_non_overlap), c.contention};
  return model::p_norm(parts, model::kContentionExponent);
}

}  // namespace assay::simulator
