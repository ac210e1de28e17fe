// The model's own error: the part of an estimate's interval that no profile explains. Not fitted
// per chip.
//
// With r = measured / predicted and the features of ResidualInputs, 95 times in a hundred
//
//   ln(-ln r) <=  a + sum of c_i x_i
//
// and 89.5 times, with other coefficients,
//
//   ln(ln r)  <=  the same
//
// where x_i are ln(1 / efficiency), private_transfers, shared_transfers, 1 - vector, issue,
// width_halvings, contention, set_conflicts and blocks. The logarithm of a logarithm, since what
// the model is unsure of makes each other worse. Quantile regression (Koenker, Bassett 1978), with
// all coefficients but `a` between 0 and 3. Its programs were 40 operators', the model's best tenth
// or drawn uniformly from the legal ones, on two x86 machines with 512-bit vectors. Zen 5 gave
// 18000, in nine validations and through two kernel languages. Zen 4 gave 700, each weighted by
// eight, at 97.5 and 94 times in a hundred since it has fewer neighbours. `a` of the first line is
// wider by 0.02.
//
// Of each validation's programs on Zen 5 85 to 89 % lie within this and the profile's uncertainty,
// of Zen 4's 85 %. Half-widths are 23 to 25 and 21 % in the median. If the features' effects were
// added and not multiplied, intervals that hold as many would be an eighth wider.
#pragma once

#include <span>

namespace assay::model {

// kOverlapExponent, kEcmNonOverlap, kHiddenMissCycles and the issue slots (model/issue_slots) are
// assumed. They were fitted together to the times of 12500 programs of 40 operators, in five
// validations and through two kernel languages. That machine has a last cache 93 cycles away, and
// each validation's clock was taken from programs bound by multiply-adds alone. Fitted to three
// quarters of the operators they leave half a hundredth more error in those of the rest.
//
// On an idle machine with a last cache 51 cycles away, 4000 programs refitted kPortExponent and
// kEcmNonOverlap, and 8000 of four validations kOverlapExponent and the slots. kEcmNonOverlap lies
// between the two machines: the second alone says 0.11.

// Exponents of the p-norms that join what a core overlaps; 3 is the field's usual value, a larger
// one is closer to max(). Of in-core parts: operations, issue slots, dependence chains, loads and
// stores, translations. Of operations with the loads and stores that they need, which hardly
// delay each other. Of the pipes for operations.
inline constexpr double kOverlapExponent = 5.5;
inline constexpr double kPortExponent = 16;
inline constexpr double kPipeExponent = 4.5;

// The same of a core's loads and stores. Streams of both overlap, but in programs they delay each
// other: these load what they just stored, and fill lines meanwhile. Between what the residual's
// two sets of times say, 1.4 (Zen 5) and 4 or more (Zen 4).
inline constexpr double kLoadStoreExponent = 2;

// ECM non-overlap (T_nOL): of the transfers beyond the loads and stores of the same lines, the part
// that is added to all else where a core can hide latency. 1: all of it, as on the cores of the ECM
// papers; 0: none, as on one that overlaps everything. The same of lines from shared memories that
// stores wait for, by convolutions of a plan whose results go to far memory.
inline constexpr double kEcmNonOverlap = 0.25;

// Exponent of the norm that joins all of that with contention for lines. Assumed: stores leave a
// core in order, so one that waits for its line delays the next, yet the store buffer hides some of
// it. Between both, by the times of 200 programs on a machine where such lines cost up to 28 ns
// each, or next to nothing, depending on the units' phase.
inline constexpr double kContentionExponent = 1.25;

// The part of false sharing that occurs, of what it would cost if units reached the ends of their
// runs at the same time. Assumed: half, since that is by chance. Of 70 programs that do little else
// most took a quarter to a half of all, some three times as much.
inline constexpr double kFalseSharingFraction = 0.5;

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

// Reorder window in instructions, for dependence chains. An effective figure within the nominal 200
// to 600 entries, since loads and addresses wait in it too. Assumed: unrolled tiles of 1 to 100
// steps agree with 100 to 160 on one machine, the sums of 5000 programs with 160 to 256 on another.
inline constexpr double kReorderWindow = 192;

// Cycles of a miss that out-of-order execution fills with other instructions: a window of some 600
// entries, 8 of them a cycle. The rest of a longer latency stalls the core.
inline constexpr double kHiddenMissCycles = 75;

// The part of a latency in cycles that does not stall a core.
constexpr double hidden_latency_fraction(double cycles) {
  return cycles <= kHiddenMissCycles ? 1 : kHiddenMissCycles / cycles;
}

struct ResidualInputs {
  double efficiency = 0;      // the node's least time on this chip / the estimate
  double width_halvings = 0;  // from the unit's vector width to the program's
  bool blocks = false;  // a register tile covers parts of blocks of a layout (model/alignment)
  // Parts of the time: lines between a unit's private caches, and from memories that units share;
  double private_transfers = 0, shared_transfers = 0;
  // busy vector pipes, used issue slots, lines that wait for their set;
  double vector = 0, issue = 0, set_conflicts = 0;
  // contention for lines, were nothing else to do.
  double contention = 0;
};

struct Residual {  // measured / predicted lies within, 86 times in a hundred
  double low = 0.55, high = 1.45;
};

Residual residual_of(const ResidualInputs& c);

// Of waves of threads, by the same regression over the times that kWaveIlp was fitted to and 470 of
// other draws, 94 % of the programs on either side. With coefficients from seven of eight
// operators, 86 % of the programs of the others lie within. `waiting`: the part of the time.
Residual residual_of_waves(double efficiency, double waiting);

}  // namespace assay::model
