// Random chains of operators, for steps that compute several.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace assay::test {

// At least so many nodes on rows, as models have them: products, the largest of a row and what is
// left of each element, a row for all rows, functions of elements, sums with an earlier matrix,
// transposes. Shapes hold primes and ones. Of some, an earlier result is an output as well.
ir::Graph random_chain(uint32_t seed, int nodes);

// Windows over images: convolutions, also of each channel alone, with steps and padding, the
// largest of a window, functions of elements, and sums with an earlier image of the same shape.
ir::Graph random_images(uint32_t seed, int nodes);

}  // namespace assay::test
