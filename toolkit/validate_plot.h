// A validation as a picture (SVG): predicted against measured on logarithmic axes with intervals
// and the line where both are equal, and beside it the errors of each operator's programs.
#pragma once

#include <string>

#include "toolkit/validate.h"

namespace assay::toolkit {

std::string plot_svg(const Validation& v);

}  // namespace assay::toolkit
