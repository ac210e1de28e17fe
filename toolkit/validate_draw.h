// Which programs of a tile-graph are measured, and their estimates before they run.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/search/legal_space.h"
#include "compiler/search/tile_graphs.h"
#include "toolkit/validate.h"

namespace assay::toolkit {

struct Trial {  // one program to estimate and run
  ir::Program program;
  ir::Kernel kernel;
  ProgramRow row;
};

class TrialDrawer {  // invariant: refers to a tile-graph, a target and a machine that outlive it
 public:
  TrialDrawer(const compiler::TileGraph& tile_graph, const hwdesc::Target& target,
              const model::Machine& machine, uint64_t seed);

  // `count` programs or as many as there are, the first choice among them.
  std::vector<Trial> draw(const ir::Program& first_choice, int count);

  // One-step neighbours that were not drawn yet.
  std::vector<Trial> neighbours(const ir::Program& of);

 private:
  bool add(ir::Program program, Drawn drawn, std::vector<Trial>& to);
  void add_uniform(int count, std::vector<Trial>& to);
  void add_best(int count, std::vector<Trial>& to);
  std::vector<ir::Program> best_tenth(int pool);

  const model::Machine& machine_;
  compiler::LegalSpace space_;
  std::string name_;
  std::mt19937_64 rng_;
  std::set<std::string> seen_;  // ids of kernels
};

// With the caches as the same program left them. `counts`: exact ones; nullptr: the closed form,
// and no texts.
model::Estimate warm_estimate(const ir::Program& p, const model::Machine& machine,
                              const lower::Counts* counts);

// Tiles, orders, copies, vectors on one line: `vector n:16 | m8 n32 k512 | m8 n32 k1 (m n k) |
// ...`.
std::string parameters_of(const ir::Program& p);

}  // namespace assay::toolkit
