// The text in front of the kernels: what all of them need, and what those that were printed use.
// Internal to codegen/.
#pragma once

#include <string>

#include "codegen/printer.h"

namespace assay::codegen {

// A type of two spellings has vectors of two names.
Text vector_name(const Dialect& d, ir::DType t, const std::string& scalar, int lanes, bool moved);

std::string print_headers(const Dialect& d, const Used& used);

}  // namespace assay::codegen
