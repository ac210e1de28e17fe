// Instructions that loops and conditions add: counting, comparing, jumping. Fetching starts anew behind a
// jump that is taken, at no better than the start of an issue group, so that on average half a group is
// lost with each. Source: the front-end models of instruction-level analysers (llvm-mca, uiCA).
#pragma once

namespace assay::model {

// In issue slots. `iterations`: of all loops; `branches`: conditions evaluated; `group`: instructions
// that a unit issues per cycle.
double control_slots(double iterations, double branches, double group);

}  // namespace assay::model
