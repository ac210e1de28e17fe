#include "model/issue_slots.h"

#include <algorithm>

#include "lower/count.h"

namespace assay::model {

namespace {

// Micro-operations. A scattered lane is extracted, then stored; a loop counts, and its comparison
// fuses with the jump, as that of a condition does.
constexpr double kScattered = 2, kIteration = 2;

constexpr double kWaveSlotsPerInstruction = 1.4, kWavePartialSums = 1.8;
constexpr double kWaveFunction = 25;  // as the dialects write it
constexpr double kWaveIteration = 1;  // count; the comparison fuses with the jump
constexpr double kWaveCondition = 1;  // compare with jump, mostly predicted

}  // namespace

double core_slots(const Instructions& i) {
  return i.operations + i.loads - std::min(i.operations, i.operands) + i.divisions +
         lower::kExpInstructions * i.functions + i.stores + i.gathered + kScattered * i.scattered +
         i.prefetches + kIteration * i.iterations + i.branches;
}

double copy_slots(const CopyInstructions& c) {
  return c.loads + c.stores + c.gathered + kScattered * c.scattered;
}

double wave_slots(const Instructions& i, bool partial_sums, double group) {
  const double counted = i.without_control() + (kWaveFunction - 1) * i.functions;
  const double lost = std::max(1.0, group) / 2;
  return counted * (partial_sums ? kWavePartialSums : kWaveSlotsPerInstruction) +
         i.iterations * (kWaveIteration + lost) + i.branches * (kWaveCondition + lost);
}

}  // namespace assay::model
