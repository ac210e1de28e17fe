// The policy for scans, scatters, sorts and tuple reductions. Each point of the register tile is a
// walk of its own along the axes that lie whole in it: several hide the latency of one another.
#include <algorithm>
#include <utility>

#include "compiler/search/tile_choices.h"

namespace assay::compiler {

namespace {

// Axes of independent walks, innermost in storage first.
std::vector<int> independent_axes(const Space& s) {
  std::vector<int> out = s.storage_order();
  std::reverse(out.begin(), out.end());
  std::erase_if(out, [&](int a) { return s.extent(a) == 1 || ir::is_whole(s.anchor, a); });
  return out;
}

void add_groups(const Space& s, Choice c, std::vector<Choice>& out) {
  if (s.machine.simt) {  // a wave is a group: small ones keep all units busy
    c.group_tile = c.register_tile;
    out.push_back(std::move(c));
    return;
  }
  for (std::vector<int64_t>& group : group_tiles(s, c.register_tile)) {
    c.group_tile = std::move(group);
    out.push_back(c);
  }
}

bool sorts(const Space& s) { return std::holds_alternative<ir::Sort>(s.anchor.kind); }

// Register tiles of a few rows of `vectors` vectors each; vector axis -1: of elements. A sort's
// exchanges are independent, so it needs no rows.
void add_rows(const Space& s, const Choice& c, std::vector<Choice>& out) {
  constexpr int64_t kRows[] = {8, 4, 2, 1};
  std::vector<int> rows = independent_axes(s);
  std::erase(rows, c.vector_axis);
  for (const int64_t n : kRows) {
    Choice with = c;
    if (n > 1 && (sorts(s) || rows.empty() || n > s.extent(rows[0]))) continue;
    if (n > 1) with.register_tile[static_cast<size_t>(rows[0])] = n;
    add_groups(s, std::move(with), out);
  }
}

// The lanes of a vector share the terms of a row, several rows at once.
void add_shared_rows(const Space& s, std::vector<Choice>& out) {
  const auto* tuple = std::get_if<ir::TupleReduction>(&s.anchor.kind);
  if (tuple == nullptr) return;
  std::vector<int> widths = s.machine.widths;
  if (s.machine.simt) widths = {s.machine.native_width};
  for (const int width : widths) {
    if (width == 1 || width > s.anchor.axes.back().extent) continue;
    Choice c = unit_choice(s);
    c.vector_axis = tuple->axis;
    c.vector_width = width;
    add_rows(s, c, out);
  }
}

// Of few rows, the lanes of a vector share the terms of one.
void add_shares(const Space& s, std::vector<Choice>& out) {
  const auto* sort = std::get_if<ir::Sort>(&s.anchor.kind);
  if (sort == nullptr || s.machine.simt) return;
  int64_t rows = 1;
  for (const int a : independent_axes(s)) rows *= s.extent(a);
  if (rows >= s.machine.native_width) return;  // a row for each lane, which needs no merges
  for (const int width : s.machine.widths) {
    if (width == 1 || 2 * width > s.anchor.axes.back().extent) continue;
    Choice c = unit_choice(s);
    c.vector_axis = sort->axis;
    c.vector_width = width;
    add_groups(s, std::move(c), out);
  }
}

}  // namespace

std::vector<Choice> kind_choices(const Space& s) {
  std::vector<Choice> out;
  for (const VectorChoice& v : vector_choices(s)) {
    for (const int64_t vectors : {4, 2, 1}) {
      if (vectors > 1 && (sorts(s) || (vectors - 1) * v.width >= s.extent(v.axis))) continue;
      Choice c = unit_choice(s);
      c.vector_axis = v.axis;
      c.vector_width = v.width;
      c.register_tile[static_cast<size_t>(v.axis)] = std::min(vectors * v.width, s.extent(v.axis));
      add_rows(s, c, out);
    }
  }
  add_rows(s, unit_choice(s), out);  // scalar code needs no gathers
  add_shares(s, out);
  add_shared_rows(s, out);
  return out;
}

}  // namespace assay::compiler
