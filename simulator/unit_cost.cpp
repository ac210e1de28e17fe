#include "simulator/unit_cost.h"

#include <algorithm>
#include <array>

#include "model/overlap.h"

namespace assay::simulator {

double ecm_time(const UnitCost& c, double serialisation) {
  const double loads = c.load - c.copied_load, stores = c.store - c.copied_store;
  const double non_overlap = c.private_non_overlap + c.shared_non_overlap;
  const auto beside = [](double transfers, double waited) {
    return std::max(0.0, transfers - waited);
  };
  const std::array<double, 2> both = {loads, stores};
  const double moving = std::max(model::overlapped(both), serialisation * (loads + stores));
  const std::array<double, 6> computing = {
      c.vector,
      moving,
      c.issue - c.copied_issue,
      c.chain,
      c.tlb + c.set_conflicts,
      beside(c.transfers - c.copied_transfers, non_overlap - c.copied_non_overlap)};
  const std::array<double, 5> copying = {c.copied_load, c.copied_store, c.copied_issue,
                                         c.copied_set_conflicts,
                                         beside(c.copied_transfers, c.copied_non_overlap)};
  return model::overlapped(computing) + model::overlapped(copying) + non_overlap + c.contention;
}

}  // namespace assay::simulator
