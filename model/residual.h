// Numbers of waves of threads, and the p-norm that joins their times.
#pragma once

#include <span>

namespace assay::model {

// Of waves of threads. Exponent of the norm that joins a unit's pipes, its memories, and its groups
// one after the other: the field's usual value. Instruction-level parallelism of one wave:
// instructions under way during the latency of a multiply-add. Fraction of gathered lanes that meet
// another one in their bank. The last two were fitted to 850 programs of 38 operators on an
// NVIDIA H200 through CUDA, with two thirds from the model's best tenth.
inline constexpr double kWaveExponent = 3;
inline constexpr double kWaveIlp = 1.77;
inline constexpr double kBankConflictFraction = 0.75;

// The p-norm of times that overlap, none of them below 0.
double p_norm(std::span<const double> parts, double p);

}  // namespace assay::model
