#include "model/issue_slots.h"

#include <algorithm>

namespace assay::model {

namespace {

// Instructions of a function: range reduction, polynomial and scaling as the dialects write it, and
// two thirds as many that compilers add.
constexpr double kFunction = 48;

constexpr double kSlotsPerInstruction = 1.5;  // busy ports, late values
constexpr double kLoad = 1;                   // that is no memory operand
constexpr double kStore = 1.8, kGathered = 1.6, kScattered = 4, kIteration = 0.6, kPrefetch = 0.3,
                 kCondition = 1.75;
constexpr double kCopiedLoad = 0.3, kCopiedStore = 2.5, kCopiedGathered = 0.6, kCopiedScattered = 3;

constexpr double kWaveSlotsPerInstruction = 1.4, kWavePartialSums = 1.8;
constexpr double kWaveFunction = 25;  // as the dialects write it
constexpr double kWaveIteration = 1;  // count; the comparison fuses with the jump
constexpr double kWaveCondition = 1;  // compare with jump, mostly predicted

}  // namespace

double core_slots(const Instructions& i) {
  const double counted = i.operations + kLoad * (i.loads - std::min(i.operations, i.operands)) +
                         i.divisions + kFunction * i.functions + kStore * i.stores +
                         kGathered * i.gathered + kScattered * i.scattered +
                         kPrefetch * i.prefetches + kIteration * i.iterations +
                         kCondition * i.branches;
  return kSlotsPerInstruction * counted;
}

double copy_slots(const CopyInstructions& c) {
  return kSlotsPerInstruction * (kCopiedLoad * c.loads + kCopiedStore * c.stores +
                                 kCopiedGathered * c.gathered + kCopiedScattered * c.scattered);
}

double wave_slots(const Instructions& i, bool partial_sums, double group) {
  const double counted = i.without_control() + (kWaveFunction - 1) * i.functions;
  const double lost = std::max(1.0, group) / 2;
  return counted * (partial_sums ? kWavePartialSums : kWaveSlotsPerInstruction) +
         i.iterations * (kWaveIteration + lost) + i.branches * (kWaveCondition + lost);
}

}  // namespace assay::model
