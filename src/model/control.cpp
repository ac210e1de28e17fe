#include "model/control.h"

#include <algorithm>

namespace assay::model {

namespace {

constexpr double kFunction = 36;  // instructions: range, polynomial and scaling as the dialects write it, and half as many that compilers add

constexpr double kBeside = 1.66;  // slots of an instruction: ports taken, values late
constexpr double kLoad = 0.65;    // that no operation takes from memory
constexpr double kStore = 2.6, kCopied = 0.7, kGathered = 1.3, kScattered = 5.6, kIteration = 2, kPrefetch = 0.3, kCondition = 2;

constexpr double kWaveBeside = 1.4, kWavePartialSums = 1.8;
constexpr double kWaveFunction = 25;  // as the dialects write it
constexpr double kWaveIteration = 1;  // count; comparing goes with the jump
constexpr double kWaveCondition = 1;  // compare with jump, mostly known beforehand

}  // namespace

double core_slots(const Instructions& i) {
  const double counted = i.operations + kLoad * (i.loads - std::min(i.operations, i.operands)) + i.divisions + kFunction * i.functions + kStore * i.stores + kCopied * i.copied + kGathered * i.gathered +
                         kScattered * i.scattered + kPrefetch * i.prefetches + kIteration * i.iterations + kCondition * i.branches;
  return kBeside * counted;
}

double wave_slots(const Instructions& i, bool partial_sums, double group) {
  const double counted = i.written() + (kWaveFunction - 1) * i.functions;
  const double lost = std::max(1.0, group) / 2;
  return counted * (partial_sums ? kWavePartialSums : kWaveBeside) + i.iterations * (kWaveIteration + lost) + i.branches * (kWaveCondition + lost);
}

}  // namespace assay::model
