// rProgram: how one tile-graph is computed, as tiles per memory level from the group's tile down to
// registers (Roller, OSDI'22, section 3.2), with staging, layouts and a vector axis.
//
// A Program is self-contained: it holds the small graph it computes, so that two layers of one
// shape share a program and a kernel. The graph is an anchor node and the nodes of its epilogue,
// which read its register tile (Welder's tile-graph with reuse level `registers`). Its producers
// are programs of the same tile-graph, whose tiles a group makes in nearer memory before it reads
// them (Welder, OSDI'23, section 4; ir/producers.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"
#include "ir/task_mapping.h"
#include "support/result.h"

namespace assay::ir {

// A tile: an extent per axis of the anchor (rTile), walked inside the enclosing tile by loops in
// `order` (axes, outermost first). An extent is a multiple of the next inner tile's extent, or the
// whole axis (then the last inner tile may be partial). Axes missing in `order` are not walked
// (their extent equals the enclosing tile's).
struct TileLevel {
  std::string memory;  // memory level the tile is meant to fit (profile name) | `registers`
  std::vector<int64_t> extent;  // per axis of the anchor
  std::vector<int> order;
  bool operator==(const TileLevel&) const = default;
};

// An operand of the anchor copied at the start of tile `level` into scratch of its own layout
// (panel packing on a CPU, shared memory on a GPU). `layout` is over the tile's region of the
// operand, whose shape is the operand's index ranges over the tile.
struct Staging {
  int read = -1;  // which read of the anchor
  int level = 0;  // index into Program::tiles
  Layout layout;
  // Where lanes are threads: who copies which elements of the tile as it is stored, its rows along
  // the innermost dimension, and how many neighbours of a row a thread moves at once.
  std::optional<TaskMapping> tasks = {};
  int width = 1;
  bool operator==(const Staging&) const = default;
};

// An edge inside the tile-graph: the memory level at which the consumer reads the producer's tile.
// Only `registers`: `verify` refuses others.
struct InnerEdge {
  int producer = 0, consumer = 0;  // positions in graph.nodes
  std::string level = "registers";
  bool operator==(const InnerEdge&) const = default;
};

// A group's threads over two axes of its tile, in place of lanes along one (Hidet's mappings).
struct ThreadMapping {
  int row_axis = -1, column_axis = -1;  // spatial
  TaskMapping tasks;        // of the innermost tile's elements: each belongs to one thread
  std::vector<int> widths;  // per tensor: neighbours that a thread loads or stores at once
  bool operator==(const ThreadMapping&) const = default;
};

struct Producer;

struct Program {
  std::string name;
  // nodes[0] is the anchor; the first output is what the last node computes. With producers its
  // tensors are also those that they read and make. What a producer makes may be an output as well.
  Graph graph;
  std::vector<InnerEdge> edges;  // in topological order
  std::vector<Layout> layouts;   // per tensor of `graph`; inner tensors' are ignored
  std::vector<TileLevel> tiles;  // tiles[0]: one group's tile; back(): the register tile
  int vector_axis = -1;          // spatial axis along which lanes lie; -1: scalar code
  int vector_width = 1;          // elements per vector
  std::vector<Staging> staging;
  int prefetch = 0;         // reduce steps ahead to prefetch the vector operand; 0: none
  int pipeline_stages = 1;  // copies that are under way or in use at once; 1: none is ahead
  int split_k = 1;
  // Waves per axis that compute a group's register tiles concurrently, each with its own
  // accumulators for the whole reduction; empty: one worker walks all tiles.
  std::vector<int> workers;
  std::string instruction;  // matrix instruction, a name in isa/; empty: none
  // Then all tiles have the same spatial extents, and the innermost one's reduce extents are what a
  // thread unrolls.
  std::optional<ThreadMapping> threads = {};
  std::vector<Producer> producers = {};  // in the order in which a group runs them
  bool operator==(const Program&) const;
};

// A program of the tile-graph whose output later programs of the group read. A group makes the tile
// of it that they read.
struct Producer {
  Program program;           // without producers of its own
  std::vector<int> tensors;  // per tensor of program.graph, its id in the graph of the whole
  std::string level;         // memory where they find it (profile name)
  bool operator==(const Producer&) const = default;
};
inline bool Program::operator==(const Program&) const = default;

// External tensors in the order of kernel arguments: inputs by id, then what producers store in the
// order of graph.outputs, the program's own output last.
std::vector<int> arguments_of(const Program& p);

// How many tiles of level `level` there are along `axis` in the whole iteration space.
int64_t tile_count(const Program& p, int level, int axis);
int64_t group_count(const Program& p);

// Checks the structure only: ids, multiples, loop orders, one staging per read, an epilogue that
// reads the register tile, stages of something staged. Mappings cover their tiles, and producers
// make what their readers need. lower's `legal` checks the limits of a target.
Diags verify(const Program& p);

// The part of it about tiles and the vector axis, for ranking many programs of one graph. Pre:
// tiles have an extent per axis.
Diags tile_faults(const Program& p);

// YAML; parse(print(p)) == p; canonical bytes.
std::string print_program(const Program& p);
Result<Program> parse_program(std::string_view text, std::string_view file);
std::string hash_of(const Program& p);

}  // namespace assay::ir
