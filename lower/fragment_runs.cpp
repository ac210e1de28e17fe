#include "lower/fragment_runs.h"

#include <algorithm>

#include "lower/nest.h"

namespace assay::lower {

FragmentSide side_of(const MatrixProduct& product, int read) {
  const ir::MatrixInstruction& i = product.instruction;
  return read == product.a ? FragmentSide{i.a, product.m, product.k}
                           : FragmentSide{i.b, product.k, product.n};
}

std::optional<bool> runs_by_row(const ir::Program& p, const MatrixProduct& product, int read) {
  const FragmentSide side = side_of(product, read);
  const auto staged = std::find_if(p.staging.begin(), p.staging.end(),
                                   [&](const ir::Staging& s) { return s.read == read; });
  if (staged == p.staging.end() || staged->layout.dims.empty()) return std::nullopt;
  const ir::Node& anchor = p.graph.nodes[0];
  const ir::PhysicalDim& inner = staged->layout.dims.back();
  const std::optional<int> axis = ir::variable_of(
      anchor.reads[static_cast<size_t>(read)].index[static_cast<size_t>(inner.dim)]);
  if (!axis || inner.div != 1 || inner.mod != 0 ||
      ir::pad_of(staged->layout, inner.dim).before != 0)
    return std::nullopt;
  if (*axis != side.columns && *axis != side.rows) return std::nullopt;
  const bool by_row = *axis == side.columns;
  const int n = ir::run_elements(side.fragment, by_row);
  if (n == 0 || ir::physical_shape(staged->layout, staged_shape(p, *staged)).back() % n != 0)
    return std::nullopt;
  // A loop that leaves the operand where it is would load it again.
  for (int a = ir::spatial_count(p.graph, anchor); a < static_cast<int>(anchor.axes.size()); ++a)
    if (!ir::moves_with(anchor, read, a)) return std::nullopt;
  return by_row;
}

}  // namespace assay::lower
