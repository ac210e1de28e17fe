// Conversions between the type that a tensor is stored as and the one that is computed in: some
// additions' time for each load and store of it.
#pragma once

#include "ir/program.h"
#include "lower/count.h"
#include "model/machine.h"

namespace assay::model {

// The type of a buffer of the program's kernel: its arguments in order, then its staged copies,
// then what it keeps for itself.
ir::DType type_of_buffer(const ir::Program& p, size_t buffer);

// Operations in which a load or store of a vector converts: as many additions as take as long on
// the machine; where that is not known one, from 8 bits to f32 two.
double conversion_operations(const Machine& m, Access access, ir::DType stored, ir::DType computed);

// Counts with the operations of all conversions. Operands of matrix instructions convert nothing.
// Copies of staged operands convert where their scratch has another type.
lower::Counts with_conversions(const ir::Program& p, const Machine& m, lower::Counts counts);

}  // namespace assay::model
