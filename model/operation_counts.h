// Parts of closed forms: operations of a scalar body, and elements that a staged copy moves.
#pragma once

#include <cstdint>

#include "ir/program.h"
#include "lower/count.h"
#include "lower/nest.h"

namespace assay::model {

// Operations of a body. An operand that occurs twice (a square) is computed once. Multiply-adds are
// found by the caller.
void count_body(const ir::Scalar& e, double times, lower::Counts& out);
// Those of its arguments alone.
void count_arguments(const ir::Scalar& e, double times, lower::Counts& out);

// Sum over all regions of the copied extent along one dimension, clipped to the tensor; in vectors
// of w. Pre: the axes of a dimension occur in no other (matmul, convolution).
double copied_along(const ir::Program& p, const ir::Staging& s, size_t dim, int64_t w);

// How often the waves of all groups pass a place of the nest (the loop it follows; -1: before all).
double passes_of(const ir::Program& p, const lower::Nest& nest, int place);

// Iterations of all loops of the nest.
double iterations_of(const ir::Program& p, const lower::Nest& nest);

}  // namespace assay::model
