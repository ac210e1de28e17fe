// How far the model has been from the clock, by what it knows of its own certainty: the part of an
// estimate's interval that no profile can explain. Not fitted per chip.
//
//   ln(-ln(measured / predicted)) <= a + b ln(1 / efficiency) + c near + d far + e (1 - vector) + f
//   issue + g halvings + h contended + i sets + j blocks    95 times in a hundred ln( ln(measured /
//   predicted)) <= the same with numbers of its own 89.5 times
//
// since what the model is unsure of makes each other worse. Quantile regression (Koenker, Bassett
// 1978), none but a below 0 and none but that above 3, over programs of 40 operators, the model's
// best tenth or drawn uniformly from the legal ones, on two x86 machines with 512-bit vectors:
// 18000 in nine validations and through two kernel languages on one (B of docs/RESULTS.md), 700 in
// one hour on the other (C), eight times each and 97.5 and 94 times in a hundred, since that one
// has fewer neighbours; a of the first line 0.02 wider. Of each validation's programs 85 to 89 %
// and of the other machine's 85 % lie within what comes of it and of what the profile is uncertain
// of, half-widths 23 to 25 and 21 % in the median. With sums for products intervals that hold as
// many are an eighth wider.
#pragma once

#include <span>

namespace assay::model {

// kOverlapSharpness, kEcmNonOverlap, kHiddenCycles and the issue slots (model/control) are assumed:
// fitted together to the times of 12500 programs of 40 operators on one machine with a last cache
// 93 cycles away, in five hours and through two kernel languages, each hour's clock by what nothing
// but multiply-adds bounds. Fitted to three quarters of the operators they leave half a hundredth
// more in those of the rest. kPortSharpness and kEcmNonOverlap again to 4000 programs of a quiet
// hour on a machine whose last cache is 51 cycles away, kOverlapSharpness and the slots to 8000 of
// four hours there; kEcmNonOverlap between both, since that one alone says 0.11.

// p of the p-norm that joins what a core does side by side: operations, slots, chains, loads and
// stores, translations; 3 is the field's usual value, larger means closer to max(). Of operations
// beside the loads and stores that they need, which hardly hold each other up. And of its pipes for
// operations.
inline constexpr double kOverlapSharpness = 5.5;
inline constexpr double kPortSharpness = 16;
inline constexpr double kPipeSharpness = 4.5;

// The same of a core's loads and stores, which streams of both have side by side: in programs,
// which load what they stored, and bring lines meanwhile, they hold each other up. Between what the
// residual's two sets of times say, 1.4 (B) and 4 or more (C).
inline constexpr double kMovingSharpness = 2;

// The part of what transfers take beyond the loads and stores of the same lines that goes on in
// turn with everything else, where a core can look past it: 1 all of it, as on the cores of the ECM
// papers, 0 none, as on one that overlaps everything. The same of far lines that stores wait for,
// by convolutions of a plan whose results go to far memory.
inline constexpr double kEcmNonOverlap = 0.25;

// p of the norm that joins all of that with the time for which units keep lines from each other.
// Assumed: stores leave a core in order, so one that waits for its line holds up the next, yet a
// core goes on meanwhile as far as it can keep them; between both, by the times of 200 programs on
// a machine where such lines cost up to 28 ns each, or next to nothing, as the units happen to run
// in step or not.
inline constexpr double kContendedSharpness = 1.25;

// The part of what units cost each other at the ends of their runs, were they all in step there:
// assumed, since that is by chance, half of it. Of 70 programs that do little else most took a
// quarter to a half of all, some three times as much.
inline constexpr double kInStep = 0.5;

// Of waves of threads: p of the norm that joins what a unit's pipes, its memories, and its groups
// one after the other take, the field's usual value; instructions that a wave has under way alone,
// in the latency of a multiply-add, and the part of lanes apart that meet another one in its bank,
// fitted to the times of 850 programs of 38 operators on one GPU (NVIDIA H200, through CUDA), two
// thirds of them the model's best tenth or near it.
inline constexpr double kWavesSharpness = 3;
inline constexpr double kAlone = 1.77;
inline constexpr double kInConflict = 0.75;

// The p-norm of what goes on side by side, none of it below 0.
double joined(std::span<const double> parts, double p);

// Instructions a core looks ahead, as far as chains of accumulations go: an effective figure within
// the nominal windows of 200 to 600 entries, since loads and addresses wait in it too. Assumed;
// unrolled tiles of 1 to 100 steps agree with 100 to 160 on one machine, and the sums of 5000
// programs with 160 to 256 on another.
inline constexpr double kReorderWindow = 192;

// Cycles of a miss that a core fills with other instructions: of a window of some 600 entries, 8 of
// them a cycle. What is further away keeps it waiting for the rest, in turn with everything else.
inline constexpr double kHiddenCycles = 75;

// The part of a latency in cycles that is not waited for.
constexpr double hidden_part(double cycles) {
  return cycles <= kHiddenCycles ? 1 : kHiddenCycles / cycles;
}

struct Certainty {
  double efficiency = 0;     // what the chip could do at best / the estimate
  double halvings = 0;       // of the unit's vectors, to the width of the program's
  bool blocks = false;       // a register tile covers parts of blocks of a layout (model/alignment)
  double near = 0, far = 0;  // parts of the time that lines take on their way between a unit's own
                             // caches, and from memories that units share
  double vector = 0, issue = 0, sets = 0;  // parts of the time in which the vector pipes are busy,
                                           // in which slots are, and lines wait for their set
  double contended = 0;  // the part of the time for which units keep lines from each other, were
                         // nothing else to do
};

struct Residual {  // measured / predicted lies within, 86 times in a hundred
  double low = 0.55, high = 1.45;
};

Residual residual_of(const Certainty& c);

// Of waves of threads, by the same regression over the times that kAlone was fitted to and 470 of
// other draws, 94 % of the programs on either side; with coefficients from seven of eight
// operators, 86 % of the programs of the others lie within. `waiting`: the part of the time.
Residual residual_of_waves(double efficiency, double waiting);

}  // namespace assay::model
