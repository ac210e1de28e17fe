#include "compiler/search/layouts.h"

#include <algorithm>
#include <optional>

#include "compiler/passes/rewrite.h"
#include "lower/instruction.h"

namespace assay::compiler {

int sole_dim(const ir::Read& r, int axis) {
  int found = -1;
  for (size_t d = 0; d < r.index.size(); ++d) {
    if (!ir::depends_on(r.index[d], axis)) continue;
    if (found >= 0 || r.index[d] != ir::variable(axis)) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

std::vector<int> inner_reduce_order(const Space& s, const std::map<int, int64_t>& blocks) {
  std::vector<int> out;
  for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a)
    if (!blocks.contains(a)) out.push_back(a);
  for (const auto& [a, block] : blocks) out.push_back(a);
  return out;
}

ir::Layout packed_layout(const Space& s, const Choice& c, const ir::Read& r,
                         const ir::Layout& plain, const std::map<int, int64_t>& blocks) {
  const int dim = sole_dim(r, c.vector_axis);
  if (dim < 0) return plain;
  std::map<int, int> dim_of;  // reduce axis -> dimension
  for (size_t d = 0; d < r.index.size(); ++d) {
    if (static_cast<int>(d) == dim || (r.index[d].terms.empty())) continue;
    if (!affine(r.index[d]) || r.index[d].terms.size() != 1 || r.index[d].terms[0].coeff != 1 ||
        r.index[d].offset != 0)
      return plain;
    dim_of[r.index[d].terms[0].var] = static_cast<int>(d);
  }
  const int64_t panel = (c.register_tile[static_cast<size_t>(c.vector_axis)] + c.vector_width - 1) /
                        c.vector_width * c.vector_width;
  ir::Layout out;
  for (size_t d = 0; d < r.index.size(); ++d)
    if (r.index[d].terms.empty()) out.dims.push_back({static_cast<int>(d), 1, 0});
  for (const auto& [axis, d] : dim_of)
    if (axis < s.spatial) out.dims.push_back({d, 1, 0});
  out.dims.push_back({dim, panel, 0});
  for (const auto& [axis, block] : blocks)
    if (dim_of.contains(axis)) out.dims.push_back({dim_of.at(axis), block, 0});
  for (int axis : inner_reduce_order(s, blocks)) {
    if (!dim_of.contains(axis)) continue;
    const int64_t together = axis == c.depth_axis ? c.depth : 1;
    const auto b = blocks.find(axis);
    out.dims.push_back({dim_of.at(axis), together, b == blocks.end() ? 0 : b->second / together});
  }
  out.dims.push_back({dim, 1, panel});
  if (c.depth > 1 && dim_of.contains(c.depth_axis))
    out.dims.push_back({dim_of.at(c.depth_axis), 1, c.depth});
  return out;
}

namespace {

// Each row is followed by 16 unused bytes: the lanes of a fragment read 8 rows at once, which then
// begin in different banks. Runs of that length stay aligned.
constexpr int64_t kRowGap = 16;  // bytes

// The dimension along which an operand's neighbours lie in memory, where the instruction loads
// fragments in runs along it; -1: there are none.
int dim_of_runs(const Space& s, const Choice& c, const ir::Read& r) {
  const ir::MatrixInstruction& i = lower::known_instruction(c.instruction)->computes;
  const ir::Layout& source = s.problem.layouts[static_cast<size_t>(r.tensor)];
  const int inner = source.dims.empty() ? -1 : source.dims.back().dim;
  const auto lies_along = [&](int axis) { return inner >= 0 && sole_dim(r, axis) == inner; };
  if (lies_along(c.vector_axis)) return ir::run_elements(i.b, true) > 0 ? inner : -1;
  for (int a = 0; a < s.spatial; ++a)
    if (c.register_tile[static_cast<size_t>(a)] >= i.m && lies_along(a) &&
        sole_dim(r, c.vector_axis) < 0)
      return ir::run_elements(i.a, false) > 0 ? inner : -1;
  return -1;
}

// Rows along the reduction, or as the operand has them where its fragments can be loaded so.
ir::Layout fragment_layout(const Space& s, const Choice& c, const ir::Read& r) {
  const int rank = static_cast<int>(r.index.size()), deep = sole_dim(r, c.depth_axis);
  ir::Layout out;
  if (deep < 0) return ir::row_major(rank);
  const int as_stored = dim_of_runs(s, c, r), inner = as_stored >= 0 ? as_stored : deep;
  for (int d = 0; d < rank; ++d)
    if (d != inner) out.dims.push_back({d, 1, 0});
  out.dims.push_back({inner, 1, 0});
  const ir::DType type = s.problem.graph.tensors[static_cast<size_t>(r.tensor)].dtype;
  out.pad.resize(static_cast<size_t>(rank));
  out.pad[static_cast<size_t>(inner)].after = kRowGap / ir::bytes_of(type);
  return out;
}

// Rows of a for a core's tile registers: each whole fragment is one run.
std::optional<ir::Layout> tile_layout(const Space& s, const Choice& c, const ir::Read& r) {
  const lower::KnownInstruction* known =
      c.instruction.empty() ? nullptr : lower::known_instruction(c.instruction);
  if (known == nullptr || known->computes.registers == 0 || sole_dim(r, c.vector_axis) >= 0)
    return std::nullopt;
  int row = -1;
  for (int a = 0; a < s.spatial; ++a)
    if (c.register_tile[static_cast<size_t>(a)] > 1 && sole_dim(r, a) >= 0) row = sole_dim(r, a);
  const int deep = sole_dim(r, c.depth_axis);
  if (row < 0 || deep < 0 || row == deep) return std::nullopt;
  ir::Layout out;
  for (int d = 0; d < static_cast<int>(r.index.size()); ++d)
    if (d != row && d != deep) out.dims.push_back({d, 1, 0});
  const ir::MatrixInstruction& i = known->computes;
  out.dims.insert(out.dims.end(), {{row, i.m, 0}, {deep, i.k, 0}, {row, 1, i.m}, {deep, 1, i.k}});
  return out;
}

// Rows along the lanes. Those of a copy that transposes end with an element that is not used: its
// stores, at a distance of a row, then fall into different banks.
ir::Layout rows_along(const Space& s, const ir::Read& r, int dim) {
  const int rank = static_cast<int>(r.index.size());
  ir::Layout out;
  for (int d = 0; d < rank; ++d)
    if (d != dim) out.dims.push_back({d, 1, 0});
  out.dims.push_back({dim, 1, 0});
  const ir::Layout& source = s.problem.layouts[static_cast<size_t>(r.tensor)];
  if (source.dims.back().dim == dim) return out;
  out.pad.resize(static_cast<size_t>(rank));
  out.pad[static_cast<size_t>(dim)].after = 1;
  return out;
}

// Rows as the operand has them, each with 16 unused bytes: threads read several rows at once, which
// then begin in different banks.
ir::Layout rows_of_threads(const Space& s, const ir::Read& r) {
  const ir::Layout& source = s.problem.layouts[static_cast<size_t>(r.tensor)];
  ir::Layout out = ir::row_major(static_cast<int>(r.index.size()));
  const int inner = source.dims.back().dim;
  std::stable_partition(out.dims.begin(), out.dims.end(),
                        [&](const ir::PhysicalDim& d) { return d.dim != inner; });
  out.pad.resize(r.index.size());
  out.pad[static_cast<size_t>(inner)].after =
      kRowGap / ir::bytes_of(s.problem.graph.tensors[static_cast<size_t>(r.tensor)].dtype);
  return out;
}

}  // namespace

// Panels of the vector axis' tile if the operand depends on that axis, else row-major.
ir::Layout staged_layout(const Space& s, const Choice& c, const ir::Read& r) {
  if (c.threads) return rows_of_threads(s, r);
  const lower::KnownInstruction* fragments = lower::known_instruction(c.instruction);
  if (fragments != nullptr && fragments->computes.m > 1 && s.machine.simt)
    return fragment_layout(s, c, r);
  if (const auto tiles = tile_layout(s, c, r)) return *tiles;
  const int dim = sole_dim(r, c.vector_axis), deep = sole_dim(r, c.depth_axis);
  const int rank = static_cast<int>(r.index.size());
  if (dim < 0) return ir::row_major(rank);
  if (s.machine.simt && c.depth == 1) return rows_along(s, r, dim);
  const int64_t panel = (c.register_tile[static_cast<size_t>(c.vector_axis)] + c.vector_width - 1) /
                        c.vector_width * c.vector_width;
  ir::Layout out;
  out.dims.push_back({dim, panel, 0});
  for (int d = 0; d < rank; ++d)
    if (d != dim) out.dims.push_back({d, d == deep ? c.depth : 1, 0});
  out.dims.push_back({dim, 1, panel});
  if (deep >= 0 && c.depth > 1) out.dims.push_back({deep, 1, c.depth});
  return out;
}

}  // namespace assay::compiler
