#include "compiler/stream/regions.h"

#include <algorithm>

namespace assay::compiler {

Region whole(const ir::Tensor& t) {
  Region out;
  for (const int64_t extent : t.shape) out.push_back({0, extent - 1});
  return out;
}

int64_t elements(const Region& r) {
  int64_t out = 1;
  for (const ir::Range& d : r) out *= d.high - d.low + 1;
  return out;
}

bool is_whole(const Region& r, const ir::Tensor& t) { return r == whole(t); }

Region hull(const Region& a, const Region& b) {
  Region out;
  for (size_t d = 0; d < a.size(); ++d)
    out.push_back({std::min(a[d].low, b[d].low), std::max(a[d].high, b[d].high)});
  return out;
}

namespace {

void need(Regions& regions, int tensor, const Region& r) {
  const auto [it, fresh] = regions.emplace(tensor, r);
  if (!fresh) it->second = hull(it->second, r);
}

// Guarded reads outside their tensor need nothing of it. One element stands for it, so that it has
// a shape, and the guard refuses it as well.
Region not_empty(Region r) {
  for (ir::Range& d : r)
    if (d.low > d.high) d = {0, 0};
  return r;
}

}  // namespace

Regions regions_of(const ir::Graph& g, const Segment& s, Regions wanted, bool whole_constants) {
  for (int i = s.end - 1; i >= s.begin; --i) {
    const ir::Node& n = g.nodes[static_cast<size_t>(i)];
    const auto made = wanted.find(n.output);
    if (made == wanted.end()) continue;
    std::vector<ir::Range> tile = ir::ranges_of(n);
    for (size_t d = 0; d < made->second.size(); ++d)
      if (!ir::is_whole(n, static_cast<int>(d))) tile[d] = made->second[d];
    std::copy_n(tile.begin(), made->second.size(), made->second.begin());
    const std::vector<Region> regions = ir::input_regions(g, n, tile);
    for (size_t r = 0; r < regions.size(); ++r) {
      const int tensor = n.reads[r].tensor;
      const ir::Tensor& t = g.tensors[static_cast<size_t>(tensor)];
      need(wanted, tensor, whole_constants && t.constant >= 0 ? whole(t) : not_empty(regions[r]));
    }
  }
  return wanted;
}

}  // namespace assay::compiler
