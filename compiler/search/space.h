// What the axes of a tile-graph allow, and the programs made from choices about them.
#pragma once

#include <map>
#include <vector>

#include "compiler/search/construct.h"

namespace assay::compiler {

// Choices from which one program follows.
struct Choice {
  int vector_axis = -1;
  int vector_width = 1;
  std::vector<int64_t> register_tile;  // per axis; reduce axes 1
  std::vector<int64_t> group_tile;     // per axis; reduce axes whole
  std::vector<int64_t> block_tile;     // per axis: the tile operands are staged for; empty: none
  bool vector_axis_outer = true;       // walk the vector axis outside the other spatial axes
  bool block_reduce_outer = true;      // block level: reduce axes outside spatial ones
  std::vector<int> staged;             // reads copied at the block level
  int prefetch = 0;
  int pipeline_stages = 1;
  bool wave_groups = false;  // SIMT: several register tiles of a group run side by side
};

struct Space {
  const Problem& problem;
  const model::Machine& machine;
  const ir::Node& anchor;
  int spatial = 0;  // number of spatial axes
  bool reduces = false;
  bool dense = false;  // a sum of products in which each operand is reused

  Space(const Problem& p, const model::Machine& m);

  int64_t extent(int axis) const { return anchor.axes[static_cast<size_t>(axis)].extent; }
  // Reads of the anchor whose lanes along `axis` are neighbours only after packing them in a copy;
  // nullopt: the axis can not carry lanes of `width`.
  struct LaneCost {
    std::vector<int> must_stage;
    bool gathers = false;
    double transfers = 0;  // of memory that lanes touch, as multiples of those of neighbours; of
                           // all operands and the output
  };
  bool carries_lanes(int axis, int width, LaneCost& cost) const;
  bool stageable(int read) const;
  // Every operand moves with it: a batch, along which nothing is used again.
  bool moves_all(int axis) const;
  // Spatial axes in the order of the output's storage, outermost first; with their extents > 1.
  std::vector<int> storage_order() const;
};

ir::Program build(const Space& s, const Choice& c);

// A tile of `axis` extents all 1, whole reduce axes: the start of a Choice.
Choice unit_choice(const Space& s);

// Candidates of each policy.
std::vector<Choice> dense_choices(const Space& s);
std::vector<Choice> plain_choices(const Space& s);
std::vector<Choice> scratchpad_choices(const Space& s, int stages);
std::vector<Choice> wave_choices(const Space& s);
Choice scalar_choice(const Space& s);

// Those of the policy that suits the machine's memories and the problem: what construction
// considers. `printed`: kernels are, so programs are those that lowering knows.
std::vector<Choice> choices_for(const Space& s, bool printed);

// Group tiles that split one axis over the units in a few ways; small work also undivided.
std::vector<std::vector<int64_t>> group_tiles(const Space& s,
                                              const std::vector<int64_t>& register_tile);

}  // namespace assay::compiler
