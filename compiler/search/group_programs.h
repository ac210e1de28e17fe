// Programs that compute several tile-graphs together, for given tiles of a group.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/search/construct_all.h"

namespace assay::compiler {

class GroupPrograms {  // invariant: refers to the parts of one compilation, which outlive it
 public:
  GroupPrograms(const TileGraphs& graphs, const Programs& programs, const hwdesc::Target& target,
                const model::Machine& machine);

  // The tensor of the graph that a tile-graph computes.
  int output_of(int part) const;

  // Of a group of tile-graphs, whose last one's output is the group's: the graph's tensors, in the
  // order of its program's graph.
  std::vector<int> tensors_of(const std::vector<int>& all) const;

  // Tiles of a group of the last program, per axis of its anchor, in families from large to small
  // ones: one axis in tiles, the others whole, or one position of an axis before it.
  using Tile = std::vector<int64_t>;
  std::vector<std::vector<Tile>> families(int last) const;

  struct Made {
    std::optional<ir::Program> program;
    std::string why;          // not
    bool propagates = false;  // does each tile follow from the group's? Else smaller ones do not
  };
  // The fastest program of each tile-graph for the tile that follows from the group's.
  Made make(const std::vector<int>& all, const Tile& group);

  const Problem& problem(int part) const { return problems_[static_cast<size_t>(part)]; }

 private:
  struct Propagated;
  Propagated propagate(const std::vector<int>& all, const Tile& group) const;
  int64_t widest_vector() const;
  static int64_t rounded(int64_t t, int64_t extent, int64_t unit);
  double near_bytes() const;
  std::string level_for(double bytes) const;
  const ir::Program* construct_member(const Problem& problem);

  const TileGraphs& graphs_;
  const std::vector<TileGraph>& parts_;
  const Programs& programs_;
  const hwdesc::Target& target_;
  const model::Machine& machine_;
  std::vector<Problem> problems_;  // per tile-graph, with the graph's axes
  std::map<std::string, std::optional<ir::Program>> members_;
};

}  // namespace assay::compiler
