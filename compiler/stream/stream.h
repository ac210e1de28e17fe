// A plan for a limit of device memory: what does not fit lies in host memory and is streamed in
// strips (Welder, OSDI'23: host memory as a level).
#pragma once

#include <functional>

#include "compiler/compile.h"
#include "model/machine.h"

namespace assay::compiler {

// A strip's graph as a plan of its own.
using CompileStrip = std::function<Result<Compiled>(const ir::Graph&)>;

// `g`: the graph after the passes that rewrite it, before types and layouts. `whole`: its plan
// without a limit, for the time of each node, whose step has its name. The result has no estimates
// yet. Its arena and weights take `memory` bytes at most.
// Errors: a node whose smallest strip is larger (named, with what would fit); a chip of which the
// link to the host is not known; those of `compile_strip`.
Result<Compiled> stream(const ir::Graph& g, const Compiled& whole, const model::Machine& m,
                        int64_t memory, const CompileStrip& compile_strip);

}  // namespace assay::compiler
