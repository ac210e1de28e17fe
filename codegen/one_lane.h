// A kernel of vectors as one of scalars, for devices whose lanes are threads: thread l of a group
// computes lanes l, l + width, ... of every vector. Internal to codegen.
#pragma once

#include "ir/kernel.h"
#include "support/result.h"

namespace assay::codegen {

// `width` threads per wave. Threads read what others stage in scratch, so copies get barriers
// around them where the kernel has none, unless lanes use only their own (Buffer::by_lane). Values
// of one lane are computed by all threads and stored by the first of each wave. Pre: verify(kernel)
// is empty. Errors: a vector whose lanes are no multiple of `width`.
Result<ir::Kernel> one_lane(const ir::Kernel& kernel, int width);

}  // namespace assay::codegen
