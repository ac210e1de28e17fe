// Collapses axes that are adjacent in every tensor they index into one axis, for waves.
//
//   out[n, o, y, x] = sum(c) in[n, c, y, x] w[o, c]   ->   out[n, o, p] = sum(c) in[n, c, p] w[o,
//   c]
//
// Why: a wave's lanes run along one axis, and short rows of an image would leave lanes idle. A
// collapsed axis continues from row to row.
// Left alone: axes that some tensor splits, guards, looks up or stores in a layout other than
// row-major, and axes of constants, which are packed.
// Source: the views of Hidet's task mappings (ASPLOS'23): a wave is spatial(w) over the new axis.
#pragma once

#include "compiler/search/construct.h"

namespace assay::compiler {

// The same computation over fewer axes; every tensor keeps the order of its elements.
Problem collapse_axes(Problem p);

}  // namespace assay::compiler
