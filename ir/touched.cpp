#include "ir/touched.h"

#include <algorithm>
#include <numeric>

#include "ir/producers.h"

namespace assay::ir {

namespace {

Box whole_of(const Tensor& t) {
  Box out;
  for (const int64_t extent : t.shape) out.push_back({0, extent - 1});
  return out;
}

// A box that holds both; empty ones hold nothing yet.
void include(Box& to, const Box& box, bool fresh) {
  if (fresh) {
    to = box;
    return;
  }
  for (size_t d = 0; d < to.size(); ++d)
    to[d] = {std::min(to[d].low, box[d].low), std::max(to[d].high, box[d].high)};
}

}  // namespace

bool overlap(const Box& a, const Box& b) {
  for (size_t d = 0; d < a.size(); ++d)
    if (a[d].high < b[d].low || b[d].high < a[d].low) return false;
  return true;
}

TouchedBoxes::TouchedBoxes(const Program& p) : p_(p) {
  if (p.producers.empty()) {
    Part own{p, std::vector<int>(p.graph.tensors.size()),
             std::vector<int>(p.graph.nodes[0].axes.size())};
    std::iota(own.tensors.begin(), own.tensors.end(), 0);
    std::iota(own.axes.begin(), own.axes.end(), 0);
    parts_.push_back(std::move(own));
    return;
  }
  const Result<std::vector<std::vector<int>>> axes = group_axes(p);
  if (!axes) return;
  std::vector<Member> members = members_of(p);
  for (size_t m = 0; m < members.size(); ++m)
    parts_.push_back({std::move(members[m].program), std::move(members[m].tensors), (*axes)[m]});
}

// Per axis of the anchor, the numbers of the tiles that the groups have. Group numbers count
// through the tiles in the order of the outermost level; where two groups differ in an axis, all
// axes inside it are taken whole.
std::vector<Range> TouchedBoxes::tiles_of(int64_t begin, int64_t end) const {
  std::vector<Range> out(p_.graph.nodes[0].axes.size(), {0, 0});
  std::vector<int> order;
  for (const int a : p_.tiles[0].order)
    if (!is_reduce(p_.graph, p_.graph.nodes[0], a)) order.push_back(a);
  int64_t first = begin, last = end - 1, inside = group_count(p_);
  bool differs = false;
  for (const int a : order) {
    const int64_t count = tile_count(p_, 0, a);
    inside /= count;
    const Range digits{first / inside, last / inside};
    out[static_cast<size_t>(a)] = differs ? Range{0, count - 1} : digits;
    differs = differs || digits.low != digits.high;
    first %= inside;
    last %= inside;
  }
  return out;
}

void TouchedBoxes::touch(const Part& part, const std::vector<Range>& tiles,
                         std::vector<Box>& boxes) const {
  const Graph& g = part.program.graph;
  std::vector<Range> ranges = ranges_of(g.nodes[0]);
  for (size_t a = 0; a < ranges.size(); ++a) {
    if (part.axes[a] < 0 || is_reduce(g, g.nodes[0], static_cast<int>(a))) continue;
    const Range& of = tiles[static_cast<size_t>(part.axes[a])];
    const int64_t tile = part.program.tiles[0].extent[a];
    ranges[a] = {of.low * tile, std::min(ranges[a].high, (of.high + 1) * tile - 1)};
  }
  const auto add = [&](int tensor, const Box& box) {
    const int id = part.tensors[static_cast<size_t>(tensor)];
    if (id < 0) return;
    Box& to = boxes[static_cast<size_t>(id)];
    include(to, box, to.empty());
  };
  for (const Node& n : g.nodes) {
    // Nodes behind the anchor walk its output's dimensions.
    const std::span<const Range> own = std::span(ranges).first(n.axes.size());
    const bool expression = is_expression(n);
    const std::vector<std::vector<Range>> regions = input_regions(g, n, own);
    for (size_t r = 0; r < n.reads.size(); ++r)
      add(n.reads[r].tensor,
          expression ? regions[r] : whole_of(g.tensors[static_cast<size_t>(n.reads[r].tensor)]));
    const Tensor& output = g.tensors[static_cast<size_t>(n.output)];
    add(n.output, expression
                      ? Box(own.begin(), own.begin() + static_cast<ptrdiff_t>(output.shape.size()))
                      : whole_of(output));
  }
}

std::vector<Box> TouchedBoxes::of(int64_t begin, int64_t end) const {
  std::vector<Box> boxes(p_.graph.tensors.size());
  if (begin < end && !parts_.empty()) {
    const std::vector<Range> tiles = tiles_of(begin, end);
    for (const Part& part : parts_) touch(part, tiles, boxes);
  }
  std::vector<Box> out;
  for (const int t : arguments_of(p_)) {
    Box& box = boxes[static_cast<size_t>(t)];
    out.push_back(parts_.empty() || box.empty() ? whole_of(p_.graph.tensors[static_cast<size_t>(t)])
                                                : std::move(box));
  }
  return out;
}

}  // namespace assay::ir
