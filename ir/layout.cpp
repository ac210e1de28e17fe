#include "ir/layout.h"

#include <algorithm>

namespace assay::ir {

Layout row_major(int rank) {
  Layout out;
  for (int d = 0; d < rank; ++d) out.dims.push_back({d, 1, 0});
  return out;
}

Layout blocked(int rank, int dim, int64_t block) {
  Layout out = row_major(rank);
  if (block == 1) return out;
  out.dims[static_cast<size_t>(dim)].div = block;
  out.dims.push_back({dim, 1, block});
  return out;
}

Pad pad_of_value(const Layout& layout, int dim, double value) {
  return value == layout.pad_value ? pad_of(layout, dim) : Pad{};
}

Pad pad_of(const Layout& layout, int dim) {
  return layout.pad.empty() ? Pad{} : layout.pad[static_cast<size_t>(dim)];
}

bool is_padded(const Layout& layout) {
  return std::any_of(layout.pad.begin(), layout.pad.end(),
                     [](const Pad& p) { return p.before != 0 || p.after != 0; });
}

std::vector<int64_t> physical_shape(const Layout& layout, std::span<const int64_t> shape) {
  std::vector<int64_t> out;
  for (const PhysicalDim& p : layout.dims) {
    const Pad pad = pad_of(layout, p.dim);
    const int64_t extent = shape[static_cast<size_t>(p.dim)] + pad.before + pad.after;
    const int64_t divided = (extent + p.div - 1) / p.div;
    out.push_back(p.mod > 0 ? p.mod : divided);
  }
  return out;
}

int64_t physical_elements(const Layout& layout, std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t e : physical_shape(layout, shape)) n *= e;
  return n;
}

Index physical_offset(const Layout& layout, std::span<const int64_t> shape,
                      std::span<const Index> index, Ranges ranges) {
  const std::vector<int64_t> extents = physical_shape(layout, shape);
  Index out;
  int64_t stride = 1;
  for (size_t p = layout.dims.size(); p-- > 0;) {
    const PhysicalDim& d = layout.dims[p];
    Index at = index[static_cast<size_t>(d.dim)] + pad_of(layout, d.dim).before;
    at = divide(simplify(at, ranges), d.div, ranges);
    if (d.mod > 0) at = modulo(at, d.mod, ranges);
    out = std::move(out) + at * stride;
    stride *= extents[p];
  }
  return simplify(out, ranges);
}

int64_t element_at(const Layout& layout, std::span<const int64_t> shape,
                   std::span<const int64_t> position) {
  int64_t out = 0, stride = 1;
  for (size_t p = layout.dims.size(); p-- > 0;) {
    const PhysicalDim& d = layout.dims[p];
    const Pad pad = pad_of(layout, d.dim);
    const int64_t at = (position[static_cast<size_t>(d.dim)] + pad.before) / d.div,
                  extent = shape[static_cast<size_t>(d.dim)] + pad.before + pad.after;
    out += (d.mod > 0 ? at % d.mod : at) * stride;
    stride *= d.mod > 0 ? d.mod : (extent + d.div - 1) / d.div;
  }
  return out;
}

}  // namespace assay::ir
