// The policies for lanes that are threads: groups of several waves that share what they stage in a
// scratchpad, and groups of one wave.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "compiler/search/tile_choices.h"

namespace assay::compiler {

namespace {

constexpr int64_t kStagedDepth = 16;  // elements of a reduction that a wave stages at once

// Register tiles of which a tile that waves share consists.
int64_t waves_of(const Space& s, const std::vector<int64_t>& shared,
                 const std::vector<int64_t>& own) {
  int64_t out = 1;
  for (size_t a = 0; a < static_cast<size_t>(s.spatial); ++a) out *= ceil_div(shared[a], own[a]);
  return out;
}

// A short window that slides over rows of the register tile, unrolled: its overlapping rows are
// loaded once.
std::vector<Choice> with_whole_windows(const Space& s, std::vector<Choice> choices) {
  constexpr int64_t kLongestWindow = 7;
  const size_t before = choices.size();
  for (size_t i = 0; i < before; ++i) {
    for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a) {
      const auto slides = [&](const ir::Index& index) {
        if (!ir::depends_on(index, a)) return false;
        for (int row = 0; row < s.spatial; ++row)
          if (row != choices[i].vector_axis &&
              choices[i].register_tile[static_cast<size_t>(row)] > 1 && ir::depends_on(index, row))
            return true;
        return false;
      };
      const bool any = std::any_of(
          s.anchor.reads.begin(), s.anchor.reads.end(),
          [&](const ir::Read& r) { return std::any_of(r.index.begin(), r.index.end(), slides); });
      if (!any || s.extent(a) < 2 || s.extent(a) > kLongestWindow || !choices[i].staged.empty())
        continue;
      Choice c = choices[i];
      c.register_tile[static_cast<size_t>(a)] = s.extent(a);
      choices.push_back(std::move(c));
    }
  }
  return choices;
}

}  // namespace

std::vector<Choice> scratchpad_choices(const Space& s, int stages) {
  std::vector<Choice> out;
  std::set<std::vector<int64_t>> seen;  // short axes cut several tiles to the same extents
  if (!s.dense) return plain_choices(s);
  std::vector<int> staged;
  for (int r = 0; r < static_cast<int>(s.anchor.reads.size()); ++r)
    if (s.stageable(r)) staged.push_back(r);
  // A step of one vector's width copies whole vectors of operands stored along the reduction.
  const std::set<int64_t> depths{8, 16, 32, s.machine.native_width};
  const Choice base = unit_choice(s);
  for (const VectorChoice& v : vector_choices(s)) {
    std::vector<bool> reuses;  // per spatial axis
    for (int a = 0; a < s.spatial; ++a) reuses.push_back(reuses_vectors(s, v.axis, a));
    for (int64_t vectors : {1, 2, 4}) {
      for (const std::vector<int64_t>& rows : wave_tiles(s, v.axis, 16)) {
        for (int64_t waves_v : {1, 2, 4}) {
          for (int64_t waves_r : {1, 2, 4, 8}) {
            for (int64_t depth : depths) {
              Choice c = base;
              c.vector_axis = v.axis;
              c.vector_width = v.width;
              c.register_tile = rows;
              const auto va = static_cast<size_t>(v.axis);
              c.register_tile[va] = std::min(vectors * v.width, s.extent(v.axis));
              for (int a = 0; a < s.spatial; ++a) {
                const auto i = static_cast<size_t>(a);
                const int64_t by = a == v.axis                           ? waves_v
                                   : reuses[i] && c.register_tile[i] > 1 ? waves_r
                                                                         : 1;
                c.group_tile[i] = std::min(c.register_tile[i] * by, s.extent(a));
              }
              if (!s.problem.group.empty() &&
                  waves_of(s, c.group_tile, c.register_tile) != s.problem.waves)
                continue;
              c.block_tile = c.group_tile;
              int longest = s.spatial;
              for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a)
                if (s.extent(a) > s.extent(longest)) longest = a;
              c.block_tile[static_cast<size_t>(longest)] = std::min(depth, s.extent(longest));
              c.staged = staged;
              c.pipeline_stages = staged.empty() ? 1 : stages;
              c.wave_groups = true;
              std::vector<int64_t> key{c.vector_axis};
              for (const std::vector<int64_t>* tile :
                   {&c.register_tile, &c.group_tile, &c.block_tile})
                key.insert(key.end(), tile->begin(), tile->end());
              if (seen.insert(std::move(key)).second) out.push_back(std::move(c));
            }
          }
        }
      }
    }
  }
  return out;
}

std::vector<Choice> wave_choices(const Space& s) {
  std::vector<Choice> out;
  std::set<std::vector<int64_t>> seen;
  std::vector<Choice> choices =
      plain_choices(s);  // small tiles make many groups, so a small product keeps all units busy
  if (s.dense) {
    std::vector<Choice> dense = dense_choices(s);
    choices.insert(choices.begin(), std::make_move_iterator(dense.begin()),
                   std::make_move_iterator(dense.end()));
  }
  for (Choice& c : with_whole_windows(s, std::move(choices))) {
    c.group_tile = c.register_tile;
    for (size_t a = static_cast<size_t>(s.spatial); a < c.group_tile.size(); ++a)
      c.group_tile[a] = s.extent(static_cast<int>(a));
    if (!c.block_tile.empty()) {
      const std::vector<int64_t> block = std::exchange(c.block_tile, c.group_tile);
      for (size_t a = static_cast<size_t>(s.spatial); a < block.size(); ++a)
        c.block_tile[a] = std::min(block[a], kStagedDepth);
    }
    c.prefetch = 0;
    std::vector<int64_t> key = c.register_tile;
    key.insert(key.end(), c.block_tile.begin(), c.block_tile.end());
    key.push_back(c.vector_axis);
    if (seen.insert(std::move(key)).second) out.push_back(std::move(c));
  }
  return out;
}

namespace {

// The tile that waves share: a register tile of each of them, side by side along one axis.
std::vector<std::vector<int64_t>> side_by_side(const Space& s, const std::vector<int64_t>& tile) {
  if (s.problem.waves == 1) return {tile};
  std::vector<std::vector<int64_t>> out;
  for (int a = 0; a < s.spatial; ++a) {
    const auto i = static_cast<size_t>(a);
    if (tile[i] * (s.problem.waves - 1) >= s.extent(a) || ir::is_whole(s.anchor, a)) continue;
    out.push_back(tile);
    out.back()[i] = std::min(tile[i] * s.problem.waves, s.extent(a));
  }
  return out;
}

}  // namespace

std::vector<Choice> share_tiles(const Space& s, std::vector<Choice> choices) {
  std::vector<Choice> out;
  std::set<std::vector<int64_t>> seen;
  for (Choice& c : choices) {
    const std::vector<int64_t> block = c.block_tile.empty() ? c.register_tile : c.block_tile;
    c.group_tile = s.problem.group;
    c.block_reduce_outer = false;
    const bool several = std::exchange(c.wave_groups, s.problem.waves > 1);
    for (std::vector<int64_t>& shared :
         several ? std::vector<std::vector<int64_t>>{block} : side_by_side(s, block)) {
      if (waves_of(s, shared, c.register_tile) != s.problem.waves) continue;
      for (size_t a = static_cast<size_t>(s.spatial); a < shared.size(); ++a)
        if (c.block_tile.empty()) shared[a] = s.extent(static_cast<int>(a));
      std::vector<int64_t> key = c.register_tile;
      key.insert(key.end(), shared.begin(), shared.end());
      key.push_back(c.vector_axis);
      key.push_back(c.vector_width);
      key.insert(key.end(), c.staged.begin(), c.staged.end());
      if (!c.instruction.empty() || seen.insert(std::move(key)).second) {
        out.push_back(c);
        out.back().block_tile = shared == c.group_tile ? std::vector<int64_t>{} : shared;
      }
    }
  }
  return out;
}

}  // namespace assay::compiler
