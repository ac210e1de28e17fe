// What a mapping of a group's threads must fit.
#pragma once

#include <span>

#include "ir/program.h"

namespace assay::ir {

// A mapping covers the tile that it is of, once, and all mappings have the same threads. A load or
// store of several elements finds them together, in memory and in its thread. Without
// `Program::threads`, a copy's mapping deals each element to one thread; lower's `legal` checks its
// tile. Pre: the rest of `p` verifies.
Diags thread_faults(const Program& p);

// Elements that a thread has together of what lies in this layout, at an index over the axes. Pre:
// the program has threads.
int64_t neighbours_of_thread(const Program& p, const Layout& layout, std::span<const Index> index);

}  // namespace assay::ir
