// How far the model has been from the clock, by class of operator and regime: the part of an
// estimate's interval that no profile can explain. Recorded from the operators of ResNet-50
// on an x86 machine (docs/RESULTS.md), where nine of ten errors lay inside; not fitted per chip.
#pragma once

#include <string>

namespace assay::model {

// p of the p-norm that joins overlapping and non-overlapping time on a core; 3 is the field's usual
// value, larger means closer to max().
inline constexpr double kOverlapSharpness = 4;

struct Residual {
  double half_width = 0.25;   // of the 90 % band, relative
};

Residual residual_of(const std::string& op, double seconds);

}  // namespace assay::model
