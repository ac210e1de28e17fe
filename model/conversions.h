// Conversions between the type that a tensor is stored as and the one that is computed in: an
// instruction for each load and store of it.
#pragma once

#include "ir/program.h"
#include "lower/count.h"

namespace assay::model {

// The type of a buffer of the program's kernel: its arguments in order, then its staged copies,
// then what it keeps for itself.
ir::DType type_of_buffer(const ir::Program& p, size_t buffer);

// Counts with an operation for each conversion. Operands of matrix instructions convert nothing.
// Copies of staged operands convert where their scratch has another type.
lower::Counts with_conversions(const ir::Program& p, lower::Counts counts);

}  // namespace assay::model
