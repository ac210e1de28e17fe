// The kernel of a tile-graph from those of its programs. A group runs the body of each producer for
// the producer's tile that it needs, then the body of the program itself. What is kept on the chip
// lies in scratch. Internal to lower/.
#pragma once

#include <span>

#include "ir/kernel.h"
#include "ir/program.h"

namespace assay::lower {

// `kernels`: of ir::members_of(p), in that order. `threads`: lanes are threads, which meet between
// two bodies. Pre: ir::verify(p) is empty, and all members have as many waves.
ir::Kernel join_kernels(const ir::Program& p, std::span<const ir::Kernel> kernels, bool threads);

}  // namespace assay::lower
