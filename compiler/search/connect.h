// Connects tile-graphs: which of them one step computes together, group by group, so that what one
// hands to the next stays in near memory (Welder, OSDI'23, section 4.2).
//
// A producer joins a step that reads it; what others read as well, the step stores. The step's
// tiles follow from the tile of its last program by propagation. Tiles and programs are chosen by
// estimate. A step may stand where its expected time is below that of its parts one after the
// other, and of such steps those stand that make the plan fastest (cover.h).
#pragma once

#include <string>
#include <vector>

#include "compiler/search/construct_all.h"

namespace assay::compiler {

// One step of a plan.
struct Chosen {
  std::string name, label;
  ir::Program program;
  std::vector<int> tensors;  // per tensor of the program's graph, its id in the graph
  std::vector<int> parts;    // the tile-graphs that it computes, the last one's output is its own
};

// What was considered of a step, for people.
struct Considered {
  std::string step, producer;  // names
  bool connected = false;
  double together = 0, separate = 0;  // s; 0: no program computes them together
  bool at_least = false;              // none was made, as all take at least `together`
  std::string why;                    // not
};

std::string print(const Considered& c);

struct Connected {
  std::vector<Chosen> steps;  // in an order in which they can run
  std::vector<Considered> considered;
  // Bytes over each boundary of the memories, of all tile-graphs as steps of their own; empty: they
  // are.
  std::vector<model::LevelUse> separate;
};

// Steps of one tile-graph each where Fuse::all is not asked for. Errors: cancelled.
Result<Connected> connect(const TileGraphs& graphs, const Programs& programs,
                          const hwdesc::Target& target, const model::Machine& machine,
                          const Options& options);

}  // namespace assay::compiler
