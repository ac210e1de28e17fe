// The search space of one tile-graph: what its axes allow, choices about them, and the program that
// follows from a choice (Roller, OSDI'22, section 3.3).
#pragma once

#include <map>
#include <optional>
#include <string>
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
  bool wave_groups = false;      // threads: each wave of a group computes one register tile
  std::string instruction = {};  // matrix instruction; empty: none
  int depth_axis = -1;           // the reduce axis along which it multiplies
  int64_t depth = 1;             // numbers along it that a register of an operand holds
  std::optional<ir::ThreadMapping> threads = {};  // over two axes of the group's tile
};

struct Space {
  const Problem& problem;
  const model::Machine& machine;
  const ir::Node& anchor;
  int spatial = 0;  // number of spatial axes
  bool reduces = false;
  bool dense = false;  // a sum of products in which every operand is reused

  Space(const Problem& p, const model::Machine& m);

  // Of the axis, or of a group's tile where that is given.
  int64_t extent(int axis) const {
    const auto a = static_cast<size_t>(axis);
    return problem.group.empty() ? anchor.axes[a].extent : problem.group[a];
  }
  // Is the axis cut into tiles that are given? Inner tiles divide them.
  bool is_cut(int axis) const {
    return extent(axis) < anchor.axes[static_cast<size_t>(axis)].extent;
  }
  struct LaneCost {
    std::vector<int> must_stage;  // reads of the anchor that only a copy makes contiguous
    bool gathers = false;         // a read or the output needs a gather or scatter
    bool gathers_terms = false;   // a read does, for every term of a reduction
    double transfers = 0;         // of all operands and the output, over those of contiguous lanes
  };
  // Can `axis` carry lanes of `width`? Adds what that costs.
  bool carries_lanes(int axis, int width, LaneCost& cost) const;
  // Can the read be copied to a nearer memory? Only a region that is a box of affine indices can.
  bool stageable(int read) const;
  // Every operand depends on it, so nothing is reused along it.
  bool is_batch_axis(int axis) const;
  // Neighbours along the axis that share an operand's elements: a group's filters, or all of it.
  int64_t longest_tile(int axis) const;
  // Is a tile whole groups of filters, or a whole part of one? Others read operands of two groups.
  bool keeps_groups(int axis, int64_t tile) const;
  // Spatial axes in the order of the output's storage, outermost first.
  std::vector<int> storage_order() const;
};

ir::Program build(const Space& s, const Choice& c);

// Deals the copies of a program for threads to them, and sets the widths of their loads: the
// longest runs that tiles and layouts allow.
void deal_runs(const Space& s, ir::Program& p);

// Where a Choice starts: a register tile of one element, one group of everything.
Choice unit_choice(const Space& s);

// Candidates of each policy. Dense: sums of products with reuse on vector units with caches. Plain:
// everything else. Scratchpad: groups of several waves that share what they stage. Wave: lanes are
// threads and kernels are printed, one wave a group.
std::vector<Choice> dense_choices(const Space& s);
std::vector<Choice> plain_choices(const Space& s);
std::vector<Choice> scratchpad_choices(const Space& s, int stages);
std::vector<Choice> wave_choices(const Space& s);
Choice scalar_choice(const Space& s);
// The same sums of products by matrix instructions of the chip: `choices` of vectors, each by every
// instruction that has such lanes; tiles of a core's registers; and groups of waves, whose lanes
// hold fragments.
std::vector<Choice> by_instructions(const Space& s, const std::vector<Choice>& choices);
std::vector<Choice> tile_register_choices(const Space& s);
std::vector<Choice> fragment_choices(const Space& s);
// Of groups that are given: the choices whose tiles the group's waves can share, each wave with a
// register tile of its own. A group walks several of these.
std::vector<Choice> share_tiles(const Space& s, std::vector<Choice> choices);
// Products whose threads lie over two axes of the tile.
std::vector<Choice> thread_choices(const Space& s);
// Of other kinds: lanes and rows along independent axes, or lanes that share a row.
std::vector<Choice> kind_choices(const Space& s);

// Those of the policies that suit the machine and the problem: what construction considers.
// `printed`: kernels will be, so only programs that lowering supports.
std::vector<Choice> choices_for(const Space& s, bool printed);

// Group tiles that split one axis over the units in a few ways. Small work may also stay one group;
// large work never does.
std::vector<std::vector<int64_t>> group_tiles(const Space& s,
                                              const std::vector<int64_t>& register_tile);

}  // namespace assay::compiler
