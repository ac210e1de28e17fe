// The tree behind a core's time (unit_cost.h): the same numbers, as they join. Internal to
// simulator/.
#pragma once

#include <string>
#include <vector>

#include "model/part.h"
#include "simulator/unit_cost.h"

namespace assay::simulator {

// What lines from one place take.
struct LineTime {
  std::string name;
  double all = 0;       // s, beyond the loads and stores of the same lines
  double waited = 0;    // of these, what does not overlap with computing
  double copied = 0;    // the part of both that copies staged operands
  bool shared = false;  // from a memory that units share
  std::string detail;
  std::vector<model::Basis> basis;
};

// The leaves that in-core parts become.
struct CoreLeaves {
  model::Part vector, load, store, issue, chain, tlb, set_conflicts, contention, page_walks;
};

// Pre: `cost` counts just these lines. Its time is `ecm_time(cost, serialisation)`.
model::Part core_tree(const UnitCost& cost, double serialisation, const CoreLeaves& leaves,
                      const std::vector<LineTime>& lines);

}  // namespace assay::simulator
