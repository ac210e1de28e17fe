// How far the model has been from the clock, by class of operator and regime: the part of an
// estimate's interval that no profile can explain. Round figures set after the errors of ResNet-50's
// operators on one x86 machine; what they really cover stands in docs/RESULTS.md. Not fitted per chip.
#pragma once

#include <string>

namespace assay::model {

// p of the p-norm that joins overlapping and non-overlapping time on a core; 3 is the field's usual
// value, larger means closer to max().
inline constexpr double kOverlapSharpness = 4;

// Instructions a core looks ahead, as far as chains of accumulations go: an effective figure, below the
// nominal windows of 200 to 600 entries, since loads and addresses wait in it too. Assumed; one
// machine's unrolled tiles of 1 to 100 steps agree with 100 to 160.
inline constexpr double kReorderWindow = 128;

struct Residual {
  double half_width = 0.25;   // relative; meant as a 90 % band
};

Residual residual_of(const std::string& op, double seconds);

}  // namespace assay::model
