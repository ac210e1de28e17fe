// Which elements of its arguments a range of a program's groups touches.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/index.h"
#include "ir/program.h"

namespace assay::ir {

// Inclusive ranges, one per dimension.
using Box = std::vector<Range>;

bool overlap(const Box& a, const Box& b);

// Of one program, per argument (arguments_of) a box that holds all elements that groups [begin,
// end) read or write: those of input_regions, over the tiles of the groups. Larger where an index
// is not affine or groups are no box of tiles.
class TouchedBoxes {  // invariant: refers to a program that outlives it
 public:
  explicit TouchedBoxes(const Program& p);
  std::vector<Box> of(int64_t begin, int64_t end) const;

 private:
  struct Part {  // a program of the tile-graph
    Program program;
    std::vector<int> tensors;  // per tensor of its graph, its id in the graph of the whole
    std::vector<int> axes;     // per axis of its anchor, that of the whole's, or -1
  };
  std::vector<Range> tiles_of(int64_t begin, int64_t end) const;
  void touch(const Part& part, const std::vector<Range>& tiles, std::vector<Box>& boxes) const;

  const Program& p_;
  std::vector<Part> parts_;  // empty: not known, so all is touched
};

}  // namespace assay::ir
