#include "compiler/search/tile_choices.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

constexpr double kOneUnitPoints = 1 << 20;  // more work than this is worth a second unit
constexpr int64_t kWaveAccumulators = 32;   // registers of a thread
constexpr size_t kDivisors = 3;             // of a given tile that are tried, the largest ones

// Tiles of `extent` of at most `limit`, so that the last tile is nearly as long as the others.
std::vector<int64_t> balanced_tiles(int64_t extent, int64_t limit) {
  std::set<int64_t, std::greater<>> out;
  limit = std::max<int64_t>(1, std::min(limit, extent));
  const int64_t fewest = ceil_div(extent, limit);
  for (int64_t n : {fewest, fewest + 1, 2 * fewest})
    out.insert(std::max<int64_t>(1, ceil_div(extent, n)));
  return {out.begin(), out.end()};
}

}  // namespace

std::vector<VectorChoice> vector_choices(const Space& s) {
  std::vector<VectorChoice> out;
  const int width = s.machine.native_width;
  for (int a = 0; a < s.spatial; ++a) {
    VectorChoice v{a, width, {}};
    if (s.extent(a) > 1 && s.carries_lanes(a, width, v.cost)) out.push_back(std::move(v));
  }
  // Contiguous lanes, where there are any; else those that scatter a result once, not every term.
  const auto keep_without = [&](bool Space::LaneCost::*gathers) {
    const auto with = [&](const VectorChoice& v) { return v.cost.*gathers; };
    if (!s.machine.simt && !std::all_of(out.begin(), out.end(), with)) std::erase_if(out, with);
  };
  keep_without(&Space::LaneCost::gathers_terms);
  keep_without(&Space::LaneCost::gathers);
  const auto cost = [&](const VectorChoice& v) {
    const double waste = static_cast<double>(round_up(s.extent(v.axis), v.width)) /
                         static_cast<double>(s.extent(v.axis));
    return waste * (v.cost.must_stage.empty() ? 1.0 : 1.5) *
           (s.machine.simt ? v.cost.transfers : 1.0);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  if (out.size() > 2) out.resize(2);
  return out;
}

namespace {

bool has_groups(const Space& s, int axis) { return s.longest_tile(axis) < s.extent(axis); }

// Tiles of an axis along which operands are reused: of a group's filters, those that divide them.
std::vector<int64_t> reusing_tiles(const Space& s, int axis, int64_t limit) {
  const int64_t longest = s.longest_tile(axis);
  if (!has_groups(s, axis) && !s.is_cut(axis)) return balanced_tiles(longest, limit);
  std::vector<int64_t> out;
  for (int64_t t = std::min(longest, limit); t >= 1; --t)
    if (longest % t == 0) out.push_back(t);
  if (!has_groups(s, axis)) out.resize(std::min(out.size(), kDivisors));
  return out;
}

// Axes of the rows of a register tile, the most useful first: of a product, those along which
// vectors stay in registers.
std::vector<int> row_axes(const Space& s, int vector_axis) {
  std::vector<int> rows = s.storage_order();
  std::erase(rows, vector_axis);
  std::reverse(rows.begin(), rows.end());
  std::erase_if(rows, [&](int a) { return s.extent(a) == 1; });
  if (!s.dense) return rows;
  const auto batch =
      std::stable_partition(rows.begin(), rows.end(), [&](int a) { return !s.is_batch_axis(a); });
  if (vector_axis >= 0)
    std::stable_partition(rows.begin(), batch,
                          [&](int a) { return reuses_vectors(s, vector_axis, a); });
  return rows;
}

}  // namespace

std::vector<std::vector<int64_t>> row_tiles(const Space& s, int vector_axis, int64_t limit) {
  const std::vector<int> rows = row_axes(s, vector_axis);
  std::vector<int64_t> ones(s.anchor.axes.size(), 1);
  if (rows.empty()) return {ones};
  std::vector<std::vector<int64_t>> out;
  for (int64_t t : reusing_tiles(s, rows[0], limit)) {
    std::vector<int64_t> tile = ones;
    tile[static_cast<size_t>(rows[0])] = t;
    out.push_back(tile);
    const bool whole = t == s.longest_tile(rows[0]) || has_groups(s, rows[0]);
    if (rows.size() < 2 || !whole || 2 * t > limit) continue;
    for (int64_t u : reusing_tiles(s, rows[1], limit / t)) {
      if (u == 1) continue;
      tile[static_cast<size_t>(rows[1])] = u;
      out.push_back(tile);
    }
  }
  return out;
}

bool reuses_vectors(const Space& s, int vector_axis, int axis) {
  return std::any_of(s.anchor.reads.begin(), s.anchor.reads.end(), [&](const ir::Read& r) {
    const bool moves = std::any_of(r.index.begin(), r.index.end(), [&](const ir::Index& i) {
      return ir::depends_on(i, vector_axis);
    });
    return moves && reuse_along(s.anchor, r, axis) > 1;
  });
}

std::vector<std::vector<int64_t>> wave_tiles(const Space& s, int vector_axis, int64_t limit) {
  std::vector<int> rows = s.storage_order();
  std::erase(rows, vector_axis);
  std::erase_if(rows, [&](int a) { return s.extent(a) == 1 || s.is_batch_axis(a); });
  std::reverse(rows.begin(), rows.end());
  const auto reusing = std::find_if(rows.begin(), rows.end(),
                                    [&](int a) { return reuses_vectors(s, vector_axis, a); });
  if (reusing == rows.end()) return row_tiles(s, vector_axis, limit);
  const int first = *reusing;
  rows.erase(reusing);
  std::vector<std::vector<int64_t>> out;
  for (int64_t t = std::min(limit, s.extent(first)); t >= 1; t /= 2) {
    std::vector<int64_t> tile(s.anchor.axes.size(), 1);
    const int64_t balanced = ceil_div(s.extent(first), ceil_div(s.extent(first), t));
    if (!s.keeps_groups(first, balanced)) continue;
    tile[static_cast<size_t>(first)] = balanced;
    out.push_back(tile);
    for (int64_t u = 2; !rows.empty() && balanced * u <= limit && u / 2 < s.extent(rows[0]);
         u *= 2) {
      if (!s.keeps_groups(rows[0], std::min(u, s.extent(rows[0])))) continue;
      out.push_back(tile);
      out.back()[static_cast<size_t>(rows[0])] = std::min(u, s.extent(rows[0]));
    }
  }
  std::set<std::vector<int64_t>> seen;
  std::erase_if(out, [&](const auto& tile) { return !seen.insert(tile).second; });
  return out;
}

int64_t accumulator_limit(const Space& s, int64_t vectors) {
  // Every thread has its own registers: a small tile leaves room for other waves (occupancy).
  if (s.machine.simt) return std::max<int64_t>(1, kWaveAccumulators / vectors);
  return std::max<int64_t>(
      1, (static_cast<int64_t>(s.machine.vector_registers) - vectors - 1) / vectors);
}

int longest_reduction(const Space& s) {
  int out = -1;
  for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a)
    if (out < 0 || s.extent(a) > s.extent(out)) out = a;
  return out;
}

std::vector<std::vector<int64_t>> group_tiles(const Space& s,
                                              const std::vector<int64_t>& register_tile) {
  std::vector<int64_t> whole;
  for (size_t a = 0; a < s.anchor.axes.size(); ++a) whole.push_back(s.extent(static_cast<int>(a)));
  std::vector<std::vector<int64_t>> out{whole};
  const auto units = static_cast<int64_t>(s.machine.units);
  if (units == 1 || !s.problem.group.empty()) return out;
  if (ir::points_of(s.anchor) > kOneUnitPoints) out.clear();
  std::set<std::vector<int64_t>> seen;
  for (int a = 0; a < s.spatial; ++a) {
    for (int64_t parts : {units, 2 * units}) {
      const auto i = static_cast<size_t>(a);
      const int64_t tile = round_up(ceil_div(s.extent(a), parts), register_tile[i]);
      if (tile >= s.extent(a)) continue;
      std::vector<int64_t> t = whole;
      t[i] = tile;
      if (seen.insert(t).second) out.push_back(std::move(t));
    }
  }
  if (out.empty()) out.push_back(whole);  // nothing can be split
  return out;
}

}  // namespace assay::compiler
