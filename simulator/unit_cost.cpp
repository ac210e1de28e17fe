#include "simulator/unit_cost.h"

#include <algorithm>
#include <array>

#include "model/overlap.h"

namespace assay::simulator {
namespace {

// Ports are filled together: the busiest is the limit.
double ports(double vector, double load, double store, double serialisation) {
  return std::max({vector, load, store, serialisation * (load + store)});
}

// The parts of transfers that are not waited for.
double beside(double transfers, double waited) { return std::max(0.0, transfers - waited); }

}  // namespace

double ecm_time(const UnitCost& c, double serialisation) {
  const double waited = c.private_non_overlap + c.shared_non_overlap;
  const std::array<double, 5> computing = {
      ports(c.vector, c.load - c.copied_load, c.store - c.copied_store, serialisation),
      c.issue - c.copied_issue, c.chain, c.tlb + c.set_conflicts,
      beside(c.transfers - c.copied_transfers, waited - c.copied_non_overlap)};
  const std::array<double, 4> copying = {ports(0, c.copied_load, c.copied_store, serialisation),
                                         c.copied_issue, c.copied_set_conflicts,
                                         beside(c.copied_transfers, c.copied_non_overlap)};
  return model::overlapped(computing) + model::overlapped(copying) + waited + c.contention;
}

}  // namespace assay::simulator
