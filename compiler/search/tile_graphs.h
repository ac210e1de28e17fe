// A graph cut into the tile-graphs that are compiled one by one: simplify -> fold -> absorb ->
// layout -> fuse, each chain with what construction has to know about it.
#pragma once

#include <string>
#include <vector>

#include "compiler/passes/choose_layouts.h"
#include "compiler/passes/fuse_epilogues.h"
#include "compiler/search/construct.h"
#include "ir/graph.h"
#include "model/machine.h"

namespace assay::compiler {

struct TileGraph {
  std::string name;  // the anchor's name in the graph
  ChainGraph chain;
  Problem problem;
};

struct Problems {
  LaidOut laid;                        // the graph after simplify, fold, absorb and layout
  std::vector<int> storage;            // per tensor of it the one in whose storage it lies
  std::vector<TileGraph> tile_graphs;  // in an order in which they can run
};

// Equal problems have equal answers: the key under which what is found for one is remembered.
std::string key_of(const Problem& p);

Problems problems_of(const ir::Graph& graph, const hwdesc::Target& target, const model::Machine& m);

}  // namespace assay::compiler
