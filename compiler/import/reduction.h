// Reductions over dimensions of one tensor, as reductions themselves and as parts of
// normalisations.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/context.h"

namespace assay::import {

// A reduction's output, and the index that reads it at a point of the operand.
struct Reduced {
  int tensor = -1;
  std::vector<ir::Index> at;
};

struct Reduction {
  std::string op;  // the node's class
  ir::Combiner combine = ir::Combiner::sum;
  ir::Scalar body;                      // read(0) is the element
  std::optional<ir::DType> dtype = {};  // none: the operand's
  bool keep = false;                    // the reduced dimensions stay, with extent 1
  bool part = true;                     // of a larger operator: the names end with the class
};

// Over `axes`, which are sorted. With no axes at all the body alone is applied.
Reduced reduce(Context& c, int x, const std::vector<size_t>& axes, Reduction r);

// The sorted dimensions from `first` on.
std::vector<size_t> axes_from(size_t first, size_t rank);

double count_over(const Shape& shape, const std::vector<size_t>& axes);

// An expression over the points of x whose read(0) is x and read(1) is the reduced value there.
Expression with_reduced(const Context& c, int x, const Reduced& r, std::string op);

}  // namespace assay::import
