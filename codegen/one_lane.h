// A kernel of vectors as one of scalars, for devices whose lanes are threads: thread l of a group
// computes lanes l, l + width, ... of every vector. Internal to codegen.
#pragma once

#include "ir/kernel.h"
#include "support/result.h"

namespace assay::codegen {

// `width` threads per wave. What a thread stages in scratch the others read: barriers stand around
// copies, where the kernel has none of its own. Values of one lane are computed by all threads and
// stored by the first of each wave. Pre: verify(kernel) is empty. Errors: a vector that neither
// fills the threads of a group, nor fills them several times over.
Result<ir::Kernel> one_lane(const ir::Kernel& kernel, int width);

}  // namespace assay::codegen
