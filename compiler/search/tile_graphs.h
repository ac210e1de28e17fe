// A graph cut into the tile-graphs that are constructed one by one, each with what construction has
// to know about it (Welder, OSDI'23, section 4).
#pragma once

#include <string>
#include <vector>

#include "compiler/passes/choose_layouts.h"
#include "compiler/passes/fuse_epilogues.h"
#include "compiler/passes/views.h"
#include "compiler/search/construct.h"
#include "ir/graph.h"
#include "model/machine.h"

namespace assay::compiler {

struct TileGraph {
  std::string name;  // the anchor's name in the graph
  ChainGraph chain;
  Problem problem;
};

struct TileGraphs {
  LaidOut laid;                  // the graph after the passes that rewrite it
  std::vector<Stored> storage;   // per tensor of it
  std::vector<TileGraph> parts;  // in an order in which they can run
};

// What construction has to know of a chain of the graph, with the graph's axes.
Problem problem_of(const LaidOut& laid, const ChainGraph& chain);

// `free`: as free_nodes. Of a chip whose lanes are threads, neighbouring axes are one. `epilogues`:
// elementwise nodes join the node before them; else each node is a tile-graph.
std::vector<TileGraph> form_tile_graphs(const LaidOut& laid, const std::vector<bool>& free,
                                        const model::Machine& m, bool epilogues = true);

// The passes from layouts on see one graph, its storage and its tile-graphs.
TileGraphs form_tile_graphs(LaidOut laid, const model::Machine& m, bool epilogues = true);

// Equal problems have equal answers: the key under which an answer is remembered.
std::string key_of(const Problem& p);

}  // namespace assay::compiler
