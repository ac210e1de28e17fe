// The policies of construction: dense (sums of products with reuse, on vector units with caches),
// plain (everything else), scratchpad (explicit memories, many waves per group that share what is
// staged), wave (lanes are threads and kernels are printed: a wave per group).
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "compiler/search/space.h"

namespace assay::compiler {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

constexpr double kOneUnitPoints = 1 << 20;
constexpr int64_t kWaveAccumulators = 32;
constexpr int64_t kDepth = 16;  // of a reduction that a wave stages at once

struct VectorChoice {
  int axis = -1;
  int width = 1;
  Space::LaneCost cost;
};

// Axes that can carry the widest vectors, by what rounding up to whole vectors wastes; those that
// need gathers or scatters only when none is free of them, but for waves, which have instructions
// for them: rows may be shorter than a wave.
std::vector<VectorChoice> vector_choices(const Space& s) {
  std::vector<VectorChoice> out;
  const int width = s.machine.native_width;
  for (int a = 0; a < s.spatial; ++a) {
    VectorChoice v{a, width, {}};
    if (s.extent(a) > 1 && s.carries_lanes(a, width, v.cost)) out.push_back(std::move(v));
  }
  const bool clean =
      std::any_of(out.begin(), out.end(), [](const VectorChoice& v) { return !v.cost.gathers; });
  if (clean && !s.machine.simt)
    std::erase_if(out, [](const VectorChoice& v) { return v.cost.gathers; });
  const auto badness = [&](const VectorChoice& v) {
    const double waste = static_cast<double>(round_up(s.extent(v.axis), v.width)) /
                         static_cast<double>(s.extent(v.axis));
    return waste * (v.cost.must_stage.empty() ? 1.0 : 1.5) *
           (s.machine.simt ? v.cost.transfers : 1.0);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const auto& a, const auto& b) { return badness(a) < badness(b); });
  if (out.size() > 2) out.resize(2);
  return out;
}

// Where lanes are gathered, narrower vectors too: they touch fewer rows at a time, which may crowd
// a cache.
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

// Tiles of `extent` of at most `limit`, in balanced numbers of tiles.
std::vector<int64_t> balanced_tiles(int64_t extent, int64_t limit) {
  std::set<int64_t, std::greater<>> out;
  limit = std::max<int64_t>(1, std::min(limit, extent));
  const int64_t fewest = ceil_div(extent, limit);
  for (int64_t n : {fewest, fewest + 1, 2 * fewest})
    out.insert(std::max<int64_t>(1, ceil_div(extent, n)));
  return {out.begin(), out.end()};
}

// Register tiles along the rows (spatial axes but the vector axis), innermost in storage first.
std::vector<std::vector<int64_t>> row_tiles(const Space& s, int vector_axis, int64_t limit) {
  std::vector<int> rows = s.storage_order();
  std::erase(rows, vector_axis);
  std::reverse(rows.begin(), rows.end());
  std::erase_if(rows, [&](int a) { return s.extent(a) == 1; });
  if (s.dense)
    std::stable_partition(rows.begin(), rows.end(), [&](int a) { return !s.moves_all(a); });
  std::vector<int64_t> ones(s.anchor.axes.size(), 1);
  if (rows.empty()) return {ones};
  std::vector<std::vector<int64_t>> out;
  for (int64_t t : balanced_tiles(s.extent(rows[0]), limit)) {
    std::vector<int64_t> tile = ones;
    tile[static_cast<size_t>(rows[0])] = t;
    out.push_back(tile);
    if (rows.size() < 2 || t != s.extent(rows[0]) || 2 * t > limit) continue;
    for (int64_t u : balanced_tiles(s.extent(rows[1]), limit / t)) {
      if (u == 1) continue;
      tile[static_cast<size_t>(rows[1])] = u;
      out.push_back(tile);
    }
  }
  return out;
}

// Is an operand that moves with the lanes used again along `axis`?
bool uses_again(const Space& s, int vector_axis, int axis) {
  const auto moves = [](const ir::Read& r, int a) {
    return std::any_of(r.index.begin(), r.index.end(),
                       [&](const ir::Index& i) { return ir::depends_on(i, a); });
  };
  return std::any_of(s.anchor.reads.begin(), s.anchor.reads.end(),
                     [&](const ir::Read& r) { return moves(r, vector_axis) && !moves(r, axis); });
}

// Register tiles of a wave, of at most `limit` vectors: along the axis that uses vectors again, and
// beside it along the row that lies innermost in storage, whose other operand is used again in
// turn.
std::vector<std::vector<int64_t>> wave_tiles(const Space& s, int vector_axis, int64_t limit) {
  std::vector<int> rows = s.storage_order();
  std::erase(rows, vector_axis);
  std::erase_if(rows, [&](int a) { return s.extent(a) == 1 || s.moves_all(a); });
  std::reverse(rows.begin(), rows.end());
  const auto again =
      std::find_if(rows.begin(), rows.end(), [&](int a) { return uses_again(s, vector_axis, a); });
  if (again == rows.end()) return row_tiles(s, vector_axis, limit);
  const int first = *again;
  rows.erase(again);
  std::vector<std::vector<int64_t>> out;
  for (int64_t t = std::min(limit, s.extent(first)); t >= 1; t /= 2) {
    std::vector<int64_t> tile(s.anchor.axes.size(), 1);
    const int64_t balanced = ceil_div(s.extent(first), ceil_div(s.extent(first), t));
    tile[static_cast<size_t>(first)] = balanced;
    out.push_back(tile);
    for (int64_t u = 2; !rows.empty() && balanced * u <= limit && u / 2 < s.extent(rows[0]);
         u *= 2) {
      out.push_back(tile);
      out.back()[static_cast<size_t>(rows[0])] = std::min(u, s.extent(rows[0]));
    }
  }
  std::set<std::vector<int64_t>> seen;
  std::erase_if(out, [&](const auto& tile) { return !seen.insert(tile).second; });
  return out;
}

int64_t accumulator_limit(const Space& s, int64_t vectors) {
  // A thread has its own registers: a wave's tile takes what leaves room for others to run beside
  // it.
  if (s.machine.simt) return std::max<int64_t>(1, kWaveAccumulators / vectors);
  return std::max<int64_t>(
      1, (static_cast<int64_t>(s.machine.vector_registers) - vectors - 1) / vectors);
}

// Block tiles for staging: k in a few balanced parts, n in parts whose panel fits a cache.
std::vector<std::vector<int64_t>> block_tiles(const Space& s, const Choice& c) {
  std::vector<std::vector<int64_t>> out;
  int reduce = -1;
  for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a)
    if (reduce < 0 || s.extent(a) > s.extent(reduce)) reduce = a;
  const auto v = static_cast<size_t>(c.vector_axis), k = static_cast<size_t>(reduce);
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int64_t want_k : {s.extent(reduce), int64_t{512}, int64_t{256}}) {
    const int64_t parts = ceil_div(s.extent(reduce), want_k);
    const int64_t kc =
        parts == 1 ? s.extent(reduce) : round_up(ceil_div(s.extent(reduce), parts), 8);
    for (int64_t want_n : {c.group_tile[v], int64_t{1024}, int64_t{512}}) {
      const int64_t nc =
          want_n >= c.group_tile[v] ? c.group_tile[v] : round_up(want_n, c.register_tile[v]);
      // Inner tiles divide outer ones unless the outer one is the whole axis.
      if (nc < c.group_tile[v] && c.group_tile[v] != s.extent(c.vector_axis) &&
          c.group_tile[v] % nc != 0)
        continue;
      if (!seen.insert({kc, nc}).second) continue;
      std::vector<int64_t> block = c.group_tile;
      block[v] = nc;
      block[k] = kc;
      out.push_back(std::move(block));
    }
  }
  return out;
}

void add_staged(const Space& s, const Choice& base, const std::vector<int>& reads,
                std::vector<Choice>& out) {
  for (std::vector<int64_t>& block : block_tiles(s, base)) {
    Choice c = base;
    c.block_tile = std::move(block);
    c.staged = reads;
    out.push_back(std::move(c));
  }
}

// A long sum taken in strips, each over the whole group's tile: what a strip reads stays in a
// cache, and the partial sums pass through the output.
constexpr int64_t kStrip = 768;

void add_strips(const Space& s, const Choice& base, std::vector<Choice>& out) {
  int reduce = -1;
  for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a)
    if (reduce < 0 || s.extent(a) > s.extent(reduce)) reduce = a;
  const int64_t extent = s.extent(reduce), parts = ceil_div(extent, kStrip);
  if (extent < 2 * kStrip) return;
  Choice c = base;
  c.block_tile = c.group_tile;
  c.block_tile[static_cast<size_t>(reduce)] =
      round_up(ceil_div(extent, parts), 64);  // whole blocks of any layout
  out.push_back(std::move(c));
}

}  // namespace

std::vector<std::vector<int64_t>> group_tiles(const Space& s,
                                              const std::vector<int64_t>& register_tile) {
  std::vector<int64_t> whole;
  for (size_t a = 0; a < s.anchor.axes.size(); ++a) whole.push_back(s.extent(static_cast<int>(a)));
  std::vector<std::vector<int64_t>> out{whole};
  const auto units = static_cast<int64_t>(s.machine.units);
  if (units == 1) return out;
  // Work that is worth more than a launch is never left to one unit.
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

std::vector<Choice> dense_choices(const Space& s) {
  std::vector<Choice> out;
  const bool packed = std::any_of(
      s.anchor.reads.begin(), s.anchor.reads.end(),
      [&](const ir::Read& r) { return s.problem.packable[static_cast<size_t>(r.tensor)]; });
  for (const VectorChoice& v : vector_choices(s)) {
    for (int64_t vectors : {1, 2, 3, 4, 6}) {
      if (vectors > 1 && (vectors - 1) * v.width >= s.extent(v.axis)) break;
      const int64_t limit = accumulator_limit(s, vectors);
      for (std::vector<int64_t> tile :
           s.machine.simt ? wave_tiles(s, v.axis, limit) : row_tiles(s, v.axis, limit)) {
        const auto va = static_cast<size_t>(v.axis);
        tile[va] = std::min(vectors * v.width, s.extent(v.axis));
        for (const std::vector<int64_t>& group : group_tiles(s, tile)) {
          for (bool outer : {true, false}) {
            Choice c = unit_choice(s);
            c.vector_axis = v.axis;
            c.vector_width = v.width;
            c.register_tile = tile;
            c.group_tile = group;
            c.vector_axis_outer = outer;
            c.prefetch = 16;
            if (v.cost.must_stage.empty()) {
              out.push_back(c);
              add_strips(s, c, out);
            }
            if (v.cost.must_stage.empty() &&
                !packed) {  // rows as they come may crowd out what is prefetched
              out.push_back(c);
              out.back().prefetch = 0;
            }
            std::vector<int> copied = v.cost.must_stage;
            for (int r = 0; r < static_cast<int>(s.anchor.reads.size()) && copied.empty(); ++r) {
              const ir::Read& read = s.anchor.reads[static_cast<size_t>(r)];
              const bool moves =
                  std::any_of(read.index.begin(), read.index.end(),
                              [&](const ir::Index& i) { return ir::depends_on(i, v.axis); });
              if (moves && !s.problem.packable[static_cast<size_t>(read.tensor)] && s.stageable(r))
                copied.push_back(r);
            }
            if (!copied.empty()) add_staged(s, c, copied, out);
          }
        }
      }
    }
  }
  return out;
}

// Short sums of lanes that would have to be gathered, element by element: all of a sum in the code,
// of a few rows at a time.
void add_short_sums(const Space& s, std::vector<Choice>& out) {
  constexpr int64_t kShort = 32, kRows[] = {8, 2};
  int64_t steps = 1;
  for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a) steps *= s.extent(a);
  if (!s.reduces || s.machine.simt || steps > kShort) return;
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

std::vector<Choice> plain_choices(const Space& s) {
  std::vector<Choice> out;
  const std::vector<VectorChoice> vectors_along = vector_choices(s);
  if (std::all_of(vectors_along.begin(), vectors_along.end(),
                  [](const VectorChoice& v) { return v.cost.gathers; }))
    add_short_sums(s, out);
  for (const VectorChoice& v : with_narrower(s, vectors_along)) {
    for (int64_t vectors :
         {8, 4, 2,
          1}) {  // between equals the first stays: few rows walked side by side, far along each
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

std::vector<Choice> scratchpad_choices(const Space& s, int stages) {
  std::vector<Choice> out;
  std::set<std::vector<int64_t>> seen;  // tiles, where axes end before they do
  if (!s.dense) return plain_choices(s);
  std::vector<int> staged;
  for (int r = 0; r < static_cast<int>(s.anchor.reads.size()); ++r)
    if (s.stageable(r)) staged.push_back(r);
  // Whole vectors of an operand that is stored along the reduction are copied where a step is as
  // long as they are.
  const std::set<int64_t> depths{8, 16, 32, s.machine.native_width};
  for (const VectorChoice& v : vector_choices(s)) {
    for (int64_t vectors : {1, 2, 4}) {
      for (const std::vector<int64_t>& rows : wave_tiles(s, v.axis, 16)) {
        for (int64_t waves_v : {1, 2, 4}) {
          for (int64_t waves_r : {1, 2, 4, 8}) {
            for (int64_t depth : depths) {
              Choice c = unit_choice(s);
              c.vector_axis = v.axis;
              c.vector_width = v.width;
              c.register_tile = rows;
              const auto va = static_cast<size_t>(v.axis);
              c.register_tile[va] = std::min(vectors * v.width, s.extent(v.axis));
              for (int a = 0; a < s.spatial; ++a) {
                const auto i = static_cast<size_t>(a);
                const int64_t by = a == v.axis                                          ? waves_v
                                   : uses_again(s, v.axis, a) && c.register_tile[i] > 1 ? waves_r
                                                                                        : 1;
                c.group_tile[i] = std::min(c.register_tile[i] * by, s.extent(a));
              }
              c.block_tile = c.group_tile;
              int longest = s.spatial;
              for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a)
                if (s.extent(a) > s.extent(longest)) longest = a;
              c.block_tile[static_cast<size_t>(longest)] = std::min(depth, s.extent(longest));
              c.staged = staged;
              c.pipeline_stages = stages;
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

// A short window that slides over rows of the register tile: taken whole, rows that it meets again
// are loaded once.
std::vector<Choice> with_whole_windows(const Space& s, std::vector<Choice> choices) {
  constexpr int64_t kWindow = 7;
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
      if (!any || s.extent(a) < 2 || s.extent(a) > kWindow || !choices[i].staged.empty()) continue;
      Choice c = choices[i];
      c.register_tile[static_cast<size_t>(a)] = s.extent(a);
      choices.push_back(std::move(c));
    }
  }
  return choices;
}

std::vector<Choice> wave_choices(const Space& s) {
  std::vector<Choice> out;
  std::set<std::vector<int64_t>> seen;
  std::vector<Choice> choices =
      plain_choices(s);  // small tiles are many groups: a small product keeps all units busy
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
        c.block_tile[a] = std::min(block[a], kDepth);
    }
    c.prefetch = 0;
    std::vector<int64_t> key = c.register_tile;
    key.insert(key.end(), c.block_tile.begin(), c.block_tile.end());
    key.push_back(c.vector_axis);
    if (seen.insert(std::move(key)).second) out.push_back(std::move(c));
  }
  return out;
}

}  // namespace assay::compiler
