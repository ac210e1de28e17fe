#include "model/alignment.h"

#include <algorithm>

namespace assay::model {

namespace {

// Does the position along one dimension leave multiples of w? The lane axis itself moves in
// vectors.
bool drifts(const ir::Program& p, const ir::Index& i, int64_t pad, int64_t w) {
  if ((i.offset + pad) % w != 0) return true;
  for (const ir::Term& t : i.terms) {
    const bool lanes = t.var == p.vector_axis && t.coeff == 1 && t.div == 1 && t.mod == 0;
    if (!lanes && t.coeff % w != 0) return true;
  }
  return false;
}

}  // namespace

double straddling(const ir::Program& p, const ir::Layout& layout, const ir::Tensor& tensor,
                  const std::vector<ir::Index>& index, double line) {
  const int64_t w = p.vector_width;
  if (w == 1 || p.vector_axis < 0) return 0;
  const std::vector<int64_t> full = ir::physical_shape(layout, tensor.shape);
  bool aligned = true;
  int64_t stride = 1;
  for (size_t d = layout.dims.size(); d-- > 0;) {
    const ir::PhysicalDim& dim = layout.dims[d];
    const ir::Index& i = index[static_cast<size_t>(dim.dim)];
    const bool moves = full[d] > 1 && !i.terms.empty();
    if (moves && dim.div == 1 && ir::depends_on(i, p.vector_axis))
      aligned = aligned && !drifts(p, i, ir::pad_of(layout, dim.dim).before, w);
    else if (moves)
      aligned = aligned && stride % w == 0;
    stride *= full[d];
  }
  // An axis shorter than the vector has no more than its elements.
  const int64_t lanes =
      std::min(w, p.graph.nodes[0].axes[static_cast<size_t>(p.vector_axis)].extent);
  const double bytes = static_cast<double>(lanes) * ir::bytes_of(tensor.dtype);
  return aligned ? 0 : std::min(1.0, (bytes - ir::bytes_of(tensor.dtype)) / line);
}

bool inside_blocks(const ir::Program& p, const ir::Layout& layout,
                   const std::vector<ir::Index>& index) {
  const std::vector<int64_t>& tile = p.tiles.back().extent;
  return std::any_of(layout.dims.begin(), layout.dims.end(), [&](const ir::PhysicalDim& d) {
    if (d.mod == 0) return false;
    for (size_t a = 0; a < tile.size(); ++a)
      if (tile[a] % d.mod != 0 &&
          ir::depends_on(index[static_cast<size_t>(d.dim)], static_cast<int>(a)))
        return true;
    return false;
  });
}

}  // namespace assay::model
