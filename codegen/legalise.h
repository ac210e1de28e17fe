// Rewrites a kernel for its dialect: splits vectors wider than it can spell, and expresses missing
// operations by others. Internal to codegen.
#pragma once

#include "codegen/dialect.h"
#include "ir/kernel.h"
#include "support/result.h"

namespace assay::codegen {

// Errors: lanes that neither are spelled nor split into lanes that are.
Result<ir::Kernel> legalise(const ir::Kernel& kernel, const Dialect& dialect);

}  // namespace assay::codegen
