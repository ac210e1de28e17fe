// A tuple reduction in float64, by its definition in kind.h: one point after the other. It shares
// no code with lowering. Internal to ir/.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"

namespace assay::ir {

// The values of a read or of an axis at every point of term_axes(n), row-major.
using ValuesOf = std::function<std::vector<double>(const Scalar& leaf)>;

// The output, row-major.
std::vector<double> reduced(const Node& n, const TupleReduction& tuple, const ValuesOf& values_of);

}  // namespace assay::ir
