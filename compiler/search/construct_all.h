// A program for every tile-graph in the order in which they run, each for the caches as the one
// before leaves them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/search/tile_graphs.h"

namespace assay::compiler {

struct Programs {
  std::vector<ir::Program> chosen;             // one per tile-graph
  std::vector<std::vector<std::string>> lost;  // per tile-graph: see Compiled
  int64_t evaluated = 0, pruned = 0;
};

// A plan runs again and again: where its operands stay cached, construction starts once more with
// the caches that the last step leaves. Errors: a node that no program can compute (named),
// cancelled.
Result<Programs> construct_all(const TileGraphs& graphs, const hwdesc::Target& target,
                               const model::Machine& machine, const Options& options);

}  // namespace assay::compiler
