// Which region of every tensor a part of a segment's outputs needs.
//
// A segment is a row of consecutive nodes. From the wanted regions of its outputs back to its first
// node, `ir::input_regions` gives what each read needs, halos included (Welder, OSDI'23, section
// 4.1). A tensor's region is the box around all that is read of it, so what strips share is
// computed by each of them.
#pragma once

#include <map>
#include <vector>

#include "ir/graph.h"

namespace assay::compiler {

struct Segment {
  int begin = 0, end = 0;  // nodes [begin, end)
  bool operator==(const Segment&) const = default;
};

using Region = std::vector<ir::Range>;  // inclusive, per dimension
using Regions = std::map<int, Region>;  // by tensor; tensors that nothing needs are missing

Region whole(const ir::Tensor& t);
int64_t elements(const Region& r);
bool is_whole(const Region& r, const ir::Tensor& t);
Region hull(const Region& a, const Region& b);  // the box around both

// Pre: the tensors of `wanted` are outputs of nodes of the segment. Axes that a node's own loops
// walk (ir::is_whole) are computed whole. `whole_constants`: constants are never cut.
Regions regions_of(const ir::Graph& g, const Segment& s, Regions wanted, bool whole_constants);

}  // namespace assay::compiler
