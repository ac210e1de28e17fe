// The element types that a kernel computes in, beyond loads, stores and conversions between them.
#pragma once

#include <set>

#include "ir/kernel.h"

namespace assay::codegen {

// False of values that are only moved: constants, registers, reads, and those behind a guard.
bool is_computed(ir::ValueOp op);

std::set<ir::DType> computed_types(const ir::Kernel& kernel);

}  // namespace assay::codegen
