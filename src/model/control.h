// Instructions that loops and conditions add: counting, comparing, jumping. Fetching starts anew behind a
// jump that is taken, at no better than the start of an issue group, so that on average half a group is
// lost with each. Source: the front-end models of instruction-level analysers (llvm-mca, uiCA).
#pragma once

namespace assay::model {

// Slots that a counted instruction takes together with those that compilers put beside it: addresses and moves. More where accumulators go
// to memory and back after so many `operations` on a tile of them, which long visits do not notice; what they wait for there is a
// chain of its own. Assumed: 1.4 to 1.7 have the least mean logarithm of the error over 578 programs on one machine, and 0.4 and 0 more with
// short visits over 2500 each on another, through two kernel languages. Half of that is left after 250 operations.
constexpr double slots_per_instruction(bool partial_sums, double operations) {
  return 1.4 + (partial_sums ? 0.4 * 250 / (250 + operations) : 0);
}

// In issue slots. `iterations`: of all loops; `branches`: conditions evaluated; `group`: instructions
// that a unit issues per cycle.
double control_slots(double iterations, double branches, double group);

}  // namespace assay::model
