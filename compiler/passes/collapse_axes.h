// Axes that lie beside each other in all tensors that move with either of them are one axis: the
// rows and columns of images under a convolution of 1 x 1, whatever an elementwise node walks. A
// wave's lanes go on from row to row then, however short those are. Source: the views of Hidet's
// task mappings (ASPLOS'23), of which a wave's is spatial(w) over the joined axis.
#pragma once

#include "compiler/search/construct.h"

namespace assay::compiler {

// The same computation over fewer axes. Tensors keep their elements in their order; only those that
// are stored row-major and are no constants are joined.
Problem collapse_axes(Problem p);

}  // namespace assay::compiler
