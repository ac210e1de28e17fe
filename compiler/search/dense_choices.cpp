// The policy for sums of products whose operands are reused, on vector units with caches. Tiles
// fill the register file with accumulators (Roller, OSDI'22, section 3.3).
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "compiler/search/tile_choices.h"

namespace assay::compiler {

namespace {

// Block tiles for staging: the reduction in a few balanced parts, the vector axis in panels that
// fit a cache (BLIS: kc and nc).
std::vector<std::vector<int64_t>> block_tiles(const Space& s, const Choice& c) {
  std::vector<std::vector<int64_t>> out;
  const int reduce = longest_reduction(s);
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

// A long sum in strips, each over the whole group tile: a cache holds what a strip reads, and the
// output holds the partial sums.
constexpr int64_t kStrip = 768;

void add_strips(const Space& s, const Choice& base, std::vector<Choice>& out) {
  const int reduce = longest_reduction(s);
  const int64_t extent = s.extent(reduce), parts = ceil_div(extent, kStrip);
  if (extent < 2 * kStrip) return;
  Choice c = base;
  c.block_tile = c.group_tile;
  c.block_tile[static_cast<size_t>(reduce)] =
      round_up(ceil_div(extent, parts), 64);  // whole blocks of any layout
  out.push_back(std::move(c));
}

}  // namespace

std::vector<Choice> dense_choices(const Space& s) {
  std::vector<Choice> out;
  const bool packed = std::any_of(
      s.anchor.reads.begin(), s.anchor.reads.end(),
      [&](const ir::Read& r) { return s.problem.packable[static_cast<size_t>(r.tensor)]; });
  for (const VectorChoice& v : vector_choices(s)) {
    for (int64_t vectors : {1, 2, 3, 4, 6}) {
      if (vectors > 1 && (vectors - 1) * v.width >= s.extent(v.axis)) break;
      if (!s.keeps_groups(v.axis, std::min(vectors * v.width, s.extent(v.axis)))) continue;
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
                !packed) {  // unpacked rows may conflict with prefetched lines in their set
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
  if (s.machine.simt || s.machine.instructions.empty()) return out;
  std::vector<Choice> tiles = tile_register_choices(s);
  for (std::vector<Choice> more : {by_instructions(s, out), std::move(tiles)})
    std::move(more.begin(), more.end(), std::back_inserter(out));
  return out;
}

}  // namespace assay::compiler
