// How far the model has been from the clock, by what it knows of its own certainty: the part of an
// estimate's interval that no profile can explain. Not fitted per chip.
//
//   -ln(measured / predicted) <= a + b ln(1 / efficiency) + c near + d far + e (1 - vector) + f issue + g halvings    93 times in a hundred
//    ln(measured / predicted) <= the same with numbers of its own                                                     the same
//
// Quantile regression (Koenker, Bassett 1978) over 10000 programs of 40 operators, most of them the model's best tenth or drawn uniformly
// from the legal ones, on one x86 machine with 512-bit vectors, through two kernel languages. With coefficients from seven of
// eight operators, 88 % of the programs of the others lie within; what the profile is uncertain of comes on top.
#pragma once

namespace assay::model {

// p of the p-norm that joins overlapping and non-overlapping time on a core, and what its pipes do side by side; 3 is the field's
// usual value, larger means closer to max().
inline constexpr double kOverlapSharpness = 4.5;

// The part of transfers behind the nearest cache, beyond what the loads and stores of the same lines take there, that goes on in turn
// with everything else: 1 all of it, as on the cores of the ECM papers, 0 none, as on one that overlaps everything. Assumed: fitted
// together with the issue slots and the norm to 5000 programs on one machine, through two kernel languages, where 0.45 to 0.75 are alike; whole models
// come out 3 to 4 % faster with 0.55 than with this, too fast in both cases.
inline constexpr double kInTurn = 0.75;

// Instructions a core looks ahead, as far as chains of accumulations go: an effective figure within the nominal
// windows of 200 to 600 entries, since loads and addresses wait in it too. Assumed; unrolled tiles of 1 to 100 steps agree
// with 100 to 160 on one machine, and the sums of 5000 programs with 160 to 256 on another.
inline constexpr double kReorderWindow = 192;

// Cycles of a miss that a core fills with other instructions: half of a window of some 400 entries, 8 of them a cycle.
// Assumed; with a last cache 46 cycles away first choices are 9 % too fast on average, with 50 cycles 11 %, with none 5 %,
// where the errors of all programs are largest.
inline constexpr double kHiddenCycles = 25;

// The part of a latency in cycles that is not waited for.
constexpr double hidden_part(double cycles) { return cycles <= kHiddenCycles ? 1 : kHiddenCycles / cycles; }

struct Certainty {
  double efficiency = 0;     // what the chip could do at best / the estimate
  double halvings = 0;       // of the unit's vectors, to the width of the program's
  double near = 0, far = 0;  // parts of the time that lines take on their way between a unit's own caches, and from memories that units share
  double vector = 0, issue = 0;  // parts of the time in which the vector pipes are busy, and in which slots are
};

struct Residual {            // measured / predicted lies within, nine times in ten
  double low = 0.55, high = 1.45;
};

Residual residual_of(const Certainty& c);

}  // namespace assay::model
