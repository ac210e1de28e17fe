// Instructions that loops and conditions add: counting, comparing, jumping. Fetching starts anew behind a
// jump that is taken, at no better than the start of an issue group, so that on average half a group is
// lost with each. Source: the front-end models of instruction-level analysers (llvm-mca, uiCA).
#pragma once

namespace assay::model {

// Slots that a counted instruction takes together with those that compilers put beside it: addresses, moves, and
// where accumulators go to memory and back after so many `operations` on a tile of them, what long visits do not notice; waiting for them is a
// chain of its own. Least mean logarithms of the error: 1.4 to 1.7 over 578 programs on one machine; 0 to 0.4 beside it with short visits over
// 1700 on another, through two kernel languages. That half of that is left after 250 is chosen.
constexpr double slots_per_instruction(bool partial_sums, double operations) {
  return 1.4 + (partial_sums ? 0.4 * 250 / (250 + operations) : 0);
}

// In issue slots. `iterations`: of all loops; `branches`: conditions evaluated; `group`: instructions
// that a unit issues per cycle.
double control_slots(double iterations, double branches, double group);

}  // namespace assay::model
