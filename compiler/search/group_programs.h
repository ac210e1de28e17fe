// Programs that compute several tile-graphs together, for given tiles of a group.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/search/construct_all.h"
#include "compiler/search/propagate.h"

namespace assay::compiler {

// Bytes that the largest memory of a unit's own surely holds.
double near_bytes(const model::Machine& machine);

class GroupPrograms {  // invariant: refers to the parts of one compilation, which outlive it
 public:
  GroupPrograms(const TileGraphs& graphs, const Programs& programs, const hwdesc::Target& target,
                const model::Machine& machine, const ForEach& each);

  // The tensor of the graph that a tile-graph computes.
  int output_of(int part) const;
  // The tile-graphs that read it, in whatever shape.
  const std::set<int>& readers_of(int part) const;
  // Of a group, what its step has as an output: what is also read elsewhere, and all that it makes
  // where threads have no scratchpad.
  std::set<int> stored_by(const std::vector<int>& all) const;

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
    // s, of a group's tiles in warm caches; not less than the limit: there is no program.
    double least = 0;
  };
  // The fastest program of each tile-graph for the tile that follows from the group's. `limit`: s
  // of the whole step, from which on it is of no use.
  Made make(const std::vector<int>& all, const Tile& group, double limit);

  // Groups that compute the last tile-graph in such tiles.
  double groups_of(int last, const Tile& tile) const;

  const Problem& problem(int part) const { return problems_[static_cast<size_t>(part)]; }

  // s of a tile-graph's own program if all that it moves came from the nearest memory.
  double near_seconds(int part);

 private:
  struct Members;
  // s that a group's programs take for such tiles at least, what they compute again included.
  double least_seconds(const std::vector<int>& all, const Propagated& tiles);
  double bytes_at_once(const Propagated& tiles) const;
  Members members_for(const std::vector<int>& all, const Propagated& tiles, int waves,
                      double limit);
  ir::Program whole_of(const std::vector<int>& all, const Propagated& tiles,
                       std::vector<ir::Program> members) const;
  std::string stored_level(double bytes) const;
  int64_t widest_vector() const;
  static int64_t rounded(int64_t t, int64_t extent, int64_t unit);
  std::string level_for(double bytes) const;
  struct Member {
    std::optional<ir::Program> program;
    // Of one tile in a unit's caches, or of all where lanes are threads, without their launch.
    double seconds = 0;
  };
  const Member& construct_member(const Problem& problem);
  double launch_seconds() const;

  const TileGraphs& graphs_;
  const std::vector<TileGraph>& parts_;
  const Programs& programs_;
  const hwdesc::Target& target_;
  const model::Machine& machine_;
  const ForEach& each_;
  std::vector<Problem> problems_;       // per tile-graph, with the graph's axes
  std::vector<std::set<int>> readers_;  // per tile-graph
  std::vector<bool> is_output_;         // per tile-graph, of the graph
  std::map<std::string, Member> members_;
  model::Machine near_;               // without farther memories' times
  std::vector<double> near_seconds_;  // per tile-graph; 0: not known yet
};

}  // namespace assay::compiler
