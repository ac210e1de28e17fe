#include "model/fragment_grid.h"

#include <algorithm>
#include <set>

#include "lower/fragment_runs.h"
#include "lower/nest.h"

namespace assay::model {

namespace {

// Is a dimension, which k moves together with another axis, split into blocks? Then some registers
// are neighbours in memory and others are not.
bool crosses_blocks(const ir::Program& p, int read, int k) {
  const ir::Node& anchor = p.graph.nodes[0];
  const ir::Read& r = anchor.reads[static_cast<size_t>(read)];
  const auto split = [](const ir::Layout& l, int dim) {
    return std::any_of(l.dims.begin(), l.dims.end(), [&](const ir::PhysicalDim& d) {
      return d.dim == dim && (d.div != 1 || d.mod != 0);
    });
  };
  for (int d = 0; d < static_cast<int>(r.index.size()); ++d) {
    const ir::Index& i = r.index[static_cast<size_t>(d)];
    bool shared = false;
    for (int a = 0; a < static_cast<int>(anchor.axes.size()); ++a)
      shared = shared || (a != k && ir::depends_on(i, a));
    if (!shared || !ir::depends_on(i, k)) continue;
    if (split(p.layouts[static_cast<size_t>(r.tensor)], d)) return true;
    for (const ir::Staging& s : p.staging)
      if (s.read == read && split(s.layout, d)) return true;
  }
  return false;
}

// What a lane holds: the first element of each register along one side of the fragment. All
// mappings begin at lane 0.
std::vector<int64_t> firsts(const ir::Fragment& f, bool rows, int per) {
  std::set<int64_t> out;
  for (int item = 0; item < f.mapping.items(); item += per) {
    const ir::Task t = f.mapping.task(0, item);
    out.insert(rows ? t.row : t.col);
  }
  return {out.begin(), out.end()};
}

// Does a guard tell neighbours along an axis from each other?
bool guards_along(const ir::Program& p, const ir::Read& r, int axis) {
  if (!r.guarded || axis < 0) return false;
  const auto t = static_cast<size_t>(r.tensor);
  const ir::Layout& layout = p.layouts[t];
  for (size_t d = 0; d < r.index.size(); ++d) {
    const ir::Pad pad = ir::pad_of_value(layout, static_cast<int>(d), r.fill);
    const ir::Range range = ir::range_of(r.index[d], ir::ranges_of(p.graph.nodes[0]));
    if (ir::depends_on(r.index[d], axis) &&
        (range.low < -pad.before || range.high >= p.graph.tensors[t].shape[d] + pad.after))
      return true;
  }
  return false;
}

}  // namespace

Grid grid_of_vectors(const ir::Program& p) {
  Grid out(p.graph.nodes[0].axes.size());
  if (p.vector_axis >= 0) out[static_cast<size_t>(p.vector_axis)].step = p.vector_width;
  return out;
}

Grid grid_of_instructions(const ir::Program& p, const lower::MatrixProduct& product) {
  Grid out(p.graph.nodes[0].axes.size());
  for (size_t a = 0; a < out.size(); ++a)
    out[a].step = lower::fragment_step(product, static_cast<int>(a));
  return out;
}

Grid grid_of_results(const ir::Program& p, const lower::MatrixProduct& product) {
  Grid out = grid_of_instructions(p, product);
  const ir::Fragment& c = product.instruction.c;
  if (product.m >= 0) out[static_cast<size_t>(product.m)].at = firsts(c, true, 1);
  out[static_cast<size_t>(product.n)].at = firsts(c, false, 1);
  return out;
}

OperandGrid grid_of_operand(const ir::Program& p, const lower::MatrixProduct& product, int read,
                            const ir::Layout& layout, const std::vector<int64_t>& shape) {
  const ir::Node& anchor = p.graph.nodes[0];
  const ir::Read& r = anchor.reads[static_cast<size_t>(read)];
  const bool left = read == product.a;
  const ir::Fragment& f = left ? product.instruction.a : product.instruction.b;
  const int per = f.per_register();
  OperandGrid out{grid_of_instructions(p, product)};
  out.joined = per == 1 || lower::lane_stride(layout, shape,
                                              lower::vector_index(r.index, product.k, per,
                                                                  ir::ranges_of(anchor))) == 1;
  const int held = out.joined ? per : 1;
  GridAxis& k = out.grid[static_cast<size_t>(product.k)];
  k.at = firsts(f, !left, held);
  k.numbers = held;
  k.fragment = &f;
  k.rows = !left;
  const int other = left ? product.m : product.n;
  if (other >= 0) out.grid[static_cast<size_t>(other)].at = firsts(f, left, held);
  return out;
}

bool has_closed_form(const ir::Program& p, const lower::MatrixProduct& product) {
  const ir::MatrixInstruction& i = product.instruction;
  if (i.opaque()) return false;  // whether whole fragments are found in memory, lowering tells
  for (const int a : {product.m, product.n, product.k})  // less than a fragment has other addresses
    if (a >= 0 &&
        p.graph.nodes[0].axes[static_cast<size_t>(a)].extent < lower::fragment_step(product, a))
      return false;
  for (int read = 0; read < 2; ++read) {
    const ir::Read& r = p.graph.nodes[0].reads[static_cast<size_t>(read)];
    const lower::FragmentSide side = lower::side_of(product, read);
    // Some fragments of a partial tile are loaded in runs, and others are not.
    for (const int a : {side.rows, side.columns})
      if (a != product.k && lower::runs_by_row(p, product, read) &&
          (p.tiles.back().extent[static_cast<size_t>(a)] % lower::fragment_step(product, a) != 0 ||
           lower::computed_extent(p, a) % lower::fragment_step(product, a) != 0))
        return false;
    if (guards_along(p, r, product.k) || crosses_blocks(p, read, product.k)) return false;
    if (i.m > 1 && (guards_along(p, r, product.m) || guards_along(p, r, product.n))) return false;
  }
  return true;
}

namespace {

// Which lanes hold number `item` of a register below `end`.
std::vector<bool> lanes_inside(const GridAxis& axis, int item, int64_t end) {
  const ir::TaskMapping& mapping = axis.fragment->mapping;
  std::vector<bool> out;
  for (int lane = 0; lane < mapping.workers(); ++lane) {
    const ir::Task t = mapping.task(lane, item);
    out.push_back((axis.rows ? t.row : t.col) < end);
  }
  return out;
}

// The numbers of the register at `at` that are loaded one by one where the fragment ends at `end`;
// empty: the register is whole, or its numbers end together.
std::vector<int64_t> single_numbers(const GridAxis& axis, int64_t at, int64_t end) {
  const ir::TaskMapping& mapping = axis.fragment->mapping;
  for (int item = 0; item < mapping.items(); item += static_cast<int>(axis.numbers)) {
    const ir::Task t = mapping.task(0, item);
    if ((axis.rows ? t.row : t.col) != at) continue;
    std::vector<std::vector<bool>> inside;
    for (int n = 0; n < axis.numbers; ++n) inside.push_back(lanes_inside(axis, item + n, end));
    if (std::all_of(inside.begin(), inside.end(), [&](const auto& i) { return i == inside[0]; }))
      return {};
    std::vector<int64_t> out;
    for (int64_t n = 0; n < axis.numbers; ++n) {
      const std::vector<bool>& lanes = inside[static_cast<size_t>(n)];
      if (std::find(lanes.begin(), lanes.end(), true) != lanes.end()) out.push_back(n);
    }
    return out;
  }
  return {};
}

}  // namespace

void add_positions(const GridAxis& axis, int64_t from, int64_t extent,
                   std::vector<GridPosition>& to) {
  for (int64_t i = 0; i < extent; i += axis.step)
    for (const int64_t at : axis.at) {
      const int64_t left = extent - i;
      if (left <= at) continue;
      std::vector<int64_t> single;
      if (axis.numbers > 1 && left < axis.step) single = single_numbers(axis, at, left);
      for (const int64_t n : single) to.push_back({from + i + at + n, 1});
      if (single.empty())
        to.push_back({from + i + at, axis.fragment == nullptr ? std::min(axis.step, left) : 1});
    }
}

PositionCount count_positions(const GridAxis& axis, int64_t extent) {
  PositionCount out;
  out.all = extent / axis.step * static_cast<int64_t>(axis.at.size());
  const int64_t rest = extent % axis.step;
  for (const int64_t at : axis.at) {
    if (rest <= at) continue;
    const auto single =
        axis.numbers > 1 ? static_cast<int64_t>(single_numbers(axis, at, rest).size()) : 0;
    out.all += std::max<int64_t>(1, single);
    out.single += single;
  }
  return out;
}

}  // namespace assay::model
