// The policy for everything that is no sum of products with reuse, and the scalar fallback.
#include <algorithm>
#include <set>
#include <utility>

#include "compiler/search/tile_choices.h"

namespace assay::compiler {

namespace {

// Gathers in narrower vectors, too: they touch fewer rows at once, so fewer lines conflict in a
// set.
std::vector<VectorChoice> with_narrower(const Space& s, std::vector<VectorChoice> choices) {
  const size_t widest = choices.size();
  for (size_t i = 0; i < widest; ++i) {
    if (!choices[i].cost.gathers) continue;
    for (const int width : s.machine.widths) {
      VectorChoice v{choices[i].axis, width, {}};
      if (width > 1 && width < choices[i].width && s.carries_lanes(v.axis, width, v.cost))
        choices.push_back(std::move(v));
    }
  }
  return choices;
}

// Short sums in scalar code instead of gathers: the sum is unrolled, for a few rows at once.
void add_short_sums(const Space& s, std::vector<Choice>& out) {
  constexpr int64_t kMostSteps = 32, kRows[] = {8, 2};
  int64_t steps = 1;
  for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a) steps *= s.extent(a);
  if (!s.reduces || s.machine.simt || steps > kMostSteps) return;
  std::set<std::vector<int64_t>> seen;
  for (const int64_t rows : kRows)
    for (std::vector<int64_t> tile : row_tiles(s, -1, rows)) {
      for (int a = s.spatial; a < static_cast<int>(tile.size()); ++a)
        tile[static_cast<size_t>(a)] = s.extent(a);
      if (!seen.insert(tile).second) continue;
      for (const std::vector<int64_t>& group : group_tiles(s, tile)) {
        Choice c = unit_choice(s);
        c.register_tile = tile;
        c.group_tile = group;
        out.push_back(std::move(c));
      }
    }
}

}  // namespace

std::vector<Choice> plain_choices(const Space& s) {
  std::vector<Choice> out;
  const std::vector<VectorChoice> vectors_along = vector_choices(s);
  if (std::all_of(vectors_along.begin(), vectors_along.end(),
                  [](const VectorChoice& v) { return v.cost.gathers; }))
    add_short_sums(s, out);
  for (const VectorChoice& v : with_narrower(s, vectors_along)) {
    // The first of equal estimates is kept: long runs of few rows, which prefetchers follow.
    for (int64_t vectors : {8, 4, 2, 1}) {
      if (vectors > 1 && (vectors - 1) * v.width >= s.extent(v.axis)) continue;
      const int64_t limit = s.reduces
                                ? std::min<int64_t>(16 / vectors, accumulator_limit(s, vectors))
                                : std::max<int64_t>(1, 8 / vectors);
      for (std::vector<int64_t> tile : row_tiles(s, v.axis, std::max<int64_t>(1, limit))) {
        tile[static_cast<size_t>(v.axis)] = std::min(vectors * v.width, s.extent(v.axis));
        for (const std::vector<int64_t>& group : group_tiles(s, tile)) {
          Choice c = unit_choice(s);
          c.vector_axis = v.axis;
          c.vector_width = v.width;
          c.register_tile = tile;
          c.group_tile = group;
          out.push_back(std::move(c));
        }
      }
    }
  }
  return out;
}

Choice scalar_choice(const Space& s) {
  Choice c = unit_choice(s);
  const std::vector<std::vector<int64_t>> groups = group_tiles(s, c.register_tile);
  c.group_tile = groups.back();
  return c;
}

}  // namespace assay::compiler
