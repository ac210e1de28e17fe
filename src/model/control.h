// Instructions that loops and conditions add: counting, comparing, jumping. Fetching starts anew behind a
// jump that is taken, at no better than the start of an issue group, so that on average half a group is
// lost with each. Source: the front-end models of instruction-level analysers (llvm-mca, uiCA).
#pragma once

namespace assay::model {

// Slots that a counted instruction takes together with those that compilers put beside it: addresses, moves, and
// where accumulators go to memory and back between the tiles, waiting for them. Least mean logarithms of the error over
// 578 programs on one machine: 1.4 to 1.7 and 2.2.
inline constexpr double kSlotsPerInstruction[2] = {1.4, 2.2};

// In issue slots. `iterations`: of all loops; `branches`: conditions evaluated; `group`: instructions
// that a unit issues per cycle.
double control_slots(double iterations, double branches, double group);

}  // namespace assay::model
