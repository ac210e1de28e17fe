// A validation as a picture (SVG): on the left predicted against measured on logarithmic axes, with
// intervals and the line of equality; on the right the errors of each operator's programs.
#pragma once

#include <string>

#include "toolkit/validate.h"

namespace assay::toolkit {

std::string plot_svg(const Validation& v);

}  // namespace assay::toolkit
