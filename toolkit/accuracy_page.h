// The error table as one self-contained HTML page (support/page): what holds, errors beside both
// rooflines, predicted beside measured. Pure: the same input gives the same bytes.
#pragma once

#include <string>

#include "toolkit/accuracy.h"

namespace assay::toolkit {

std::string accuracy_page(const Accuracy& a);

}  // namespace assay::toolkit
