// Instructions that loops and conditions add: counting, comparing, jumping. Fetching starts anew behind a
// jump that is taken, at no better than the start of an issue group, so that on average half a group is
// lost with each. Source: the front-end models of instruction-level analysers (llvm-mca, uiCA).
#pragma once

namespace assay::model {

// Slots that a counted instruction takes together with those that compilers put beside it: addresses, moves, and
// where accumulators go to memory and back after so many `operations` on a tile of them, waiting for them, which long visits do
// not notice. Least mean logarithms of the error: 1.4 to 1.7, and 2.2 with short visits, over 578 programs on one machine. That half
// of the difference is left after 250 is chosen: on another, products whose sums go to memory every 256 steps were slower on
// paper than on the clock with all of it.
constexpr double slots_per_instruction(bool partial_sums, double operations) {
  return 1.4 + (partial_sums ? 0.8 * 250 / (250 + operations) : 0);
}

// In issue slots. `iterations`: of all loops; `branches`: conditions evaluated; `group`: instructions
// that a unit issues per cycle.
double control_slots(double iterations, double branches, double group);

}  // namespace assay::model
