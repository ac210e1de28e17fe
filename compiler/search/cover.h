// Which steps compute the parts of a graph: each part in exactly one step, in the least time.
#pragma once

#include <vector>

namespace assay::compiler {

// A step that computes these parts, which are in ascending order. The last one names it.
struct CoverSet {
  std::vector<int> parts;
  double seconds = 0;
};

// Disjoint sets that hold all parts below `parts`, of the least sum of seconds, of equal
// sums the fewest: positions in `sets`.
// Dynamic programming from the last part to the first. Two choices that have taken the same of the
// parts before are one state, of which the faster stands; more states than `beam` are cut to the
// fastest ones, each reckoned with `bound` for the parts that it has not computed yet. Exact where
// nothing is cut. `bound`: per part, s that it takes in any set at least. Pre: each part has a set
// of its own.
std::vector<int> best_cover(int parts, const std::vector<CoverSet>& sets,
                            const std::vector<double>& bound, int beam);

}  // namespace assay::compiler
