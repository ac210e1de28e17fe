#include "model/control.h"

#include <algorithm>

namespace assay::model {

namespace {

constexpr double kFunction = 25;  // instructions: range, polynomial and scaling, as the dialects write it

constexpr double kBeside = 1.65;  // slots of an instruction: ports taken, values late
constexpr double kStore = 3, kCopied = 1.6, kGathered = 1.5, kScattered = 4.5, kIteration = 2, kPrefetch = 0.3, kCondition = 2;

constexpr double kWaveBeside = 1.4, kWavePartialSums = 1.8;
constexpr double kWaveIteration = 1;  // count; comparing goes with the jump
constexpr double kWaveCondition = 1;  // compare with jump, mostly known beforehand

}  // namespace

double core_slots(const Instructions& i) {
  const double counted = std::max(i.operations, i.loads) + i.divisions + kFunction * i.functions + kStore * i.stores + kCopied * i.copied + kGathered * i.gathered +
                         kScattered * i.scattered + kPrefetch * i.prefetches + kIteration * i.iterations + kCondition * i.branches;
  return kBeside * counted;
}

double wave_slots(const Instructions& i, bool partial_sums, double group) {
  const double counted = i.written() + (kFunction - 1) * i.functions;
  const double lost = std::max(1.0, group) / 2;
  return counted * (partial_sums ? kWavePartialSums : kWaveBeside) + i.iterations * (kWaveIteration + lost) + i.branches * (kWaveCondition + lost);
}

}  // namespace assay::model
