// How far the model has been from the clock, by what bounds a program: the part of an estimate's
// interval that no profile can explain. Where it comes from and what it covers: docs/RESULTS.md. Not
// fitted per chip.
#pragma once

namespace assay::model {

// p of the p-norm that joins overlapping and non-overlapping time on a core; 3 is the field's usual
// value, larger means closer to max().
inline constexpr double kOverlapSharpness = 4;

// Instructions a core looks ahead, as far as chains of accumulations go: an effective figure, below the
// nominal windows of 200 to 600 entries, since loads and addresses wait in it too. Assumed; one
// machine's unrolled tiles of 1 to 100 steps agree with 100 to 160.
inline constexpr double kReorderWindow = 128;

enum class Bound { vector, load, store, issue, chain, near, far, launch };

struct Residual {          // measured / predicted lies within, nine times in ten
  double low = 0.55, high = 1.45;
};

// `whole`: vectors as wide as the unit's; `dense`: a matrix product or convolution.
Residual residual_of(Bound bound, bool whole, bool dense);

}  // namespace assay::model
