#include "model/reuse.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace assay::model {

ReuseModel::ReuseModel(const ir::Program& p, const Streams& s, const Machine& m,
                       const std::vector<double>& most, double line, double at_once)
    : p_(p), s_(s), m_(m), most_(most), line_(line) {
  for (const Stream& st : s.streams) shapes_.push_back(footprints(p, s, st, line));
  const double groups = static_cast<double>(ir::group_count(p)), units = std::min(m.units, groups);
  concurrent_groups_ = m.simt ? std::min(groups, at_once * units) : 1;
  // A shared cache serves what several groups read at about the same time once.
  device_ = view(1, 1);
  unit_ = view(units, std::min(at_once, std::ceil(groups / units)));
}

ReuseModel::View ReuseModel::view(double share, double at_once) const {
  View v;
  v.at_once = at_once;
  const size_t depths = s_.nest.loops.size() + 1;
  if (!s_.nest.loops.empty() && s_.nest.loops[0].group && share > 1) {
    const double all = static_cast<double>(s_.nest.loops[0].trips);
    v.shrink = m_.simt ? std::ceil(all / share) / all : 1 / std::min(all, share);
  }
  for (const Stream& st : s_.streams) v.whole.push_back(unit_footprint(p_, s_, st, share, line_));
  for (size_t i = 0; i < s_.streams.size(); ++i) {
    std::vector<double> f(depths, 0);
    for (size_t d = 0; d < shapes_[i].size(); ++d)
      f[d] = shapes_[i][d].bytes(line_) * part(v, s_.streams[i], d);
    v.refetched.push_back(refetched(v, i, f));
    v.footprint.push_back(std::move(f));
  }
  return v;
}

std::vector<double> ReuseModel::refetched(const View& v, size_t i,
                                          const std::vector<double>& footprint) const {
  const double most = i < most_.size() ? std::max(footprint[0], most_[i] * v.shrink)
                                       : std::numeric_limits<double>::max();
  std::vector<double> out;
  for (size_t d = 0; d <= s_.streams[i].end_depth && d < footprint.size(); ++d) {
    const double bytes = std::min(most, footprint[d] * passes(v, s_.streams[i], d));
    out.push_back(d == 0 ? bytes : std::max(bytes, out.back()));
  }
  return out;
}

double ReuseModel::passes(const View& v, const Stream& st, size_t depth) const {
  std::vector<int> tile_of(st.moves.size(), -1);
  for (size_t i = 0; i < depth; ++i)
    tile_of[static_cast<size_t>(s_.nest.loops[i].axis)] = static_cast<int>(i);
  double n = depth > 0 ? v.shrink : 1;
  for (size_t a = 0; a < tile_of.size(); ++a) {
    if (tile_of[a] < 0) continue;
    const lower::Loop& l = s_.nest.loops[static_cast<size_t>(tile_of[a])];
    const double extent = static_cast<double>(p_.graph.nodes[0].axes[a].extent);
    n *= st.moves[a] ? extent / static_cast<double>(l.tile)
                     : static_cast<double>(ir::tile_count(p_, l.level, l.axis));
  }
  return n;
}

double ReuseModel::part(const View& v, const Stream& st, size_t depth) const {
  const bool mine =
      depth == 0 && v.shrink < 1 && st.moves[static_cast<size_t>(s_.nest.loops[0].axis)];
  return mine ? v.shrink : 1;
}

bool ReuseModel::in_scratchpad(size_t i) const {
  return in_scratch(s_.streams[i]) && std::any_of(m_.levels.begin(), m_.levels.end(),
                                                  [](const Level& l) { return l.is_scratchpad; });
}

double ReuseModel::working_set(const View& v, size_t depth) const {
  double sum = 0;
  for (size_t i = 0; i < s_.streams.size(); ++i)
    if (depth <= s_.streams[i].end_depth && !in_scratchpad(i))
      sum += concurrent_tiles(v, i, depth) * v.footprint[i][depth];
  return sum;
}

double ReuseModel::concurrent_tiles(const View& v, size_t i, size_t depth) const {
  if (v.at_once <= 1) return 1;
  double walked = 1, different = 1;
  for (size_t d = s_.nest.loops.size(); d-- > 0;) {
    const lower::Loop& l = s_.nest.loops[d];
    if (!l.group) continue;
    const double trips = static_cast<double>(l.trips),
                 covered = std::clamp(concurrent_groups_ / walked, 1.0, trips);
    if (d < depth && s_.streams[i].moves[static_cast<size_t>(l.axis)]) different *= covered;
    walked *= trips;
  }
  return std::min(different, v.at_once);
}

double ReuseModel::capacity_needed(const View& v, size_t i, size_t depth,
                                   const Level& cache) const {
  const double sum = working_set(v, depth);
  if (depth > s_.streams[i].end_depth || in_scratchpad(i)) return sum;
  const Footprint& rows = rows_at(v, i, depth);
  const double crowding = concurrent_tiles(v, i, depth) *
                          std::max(0.0, rows.occupied(line_, cache.sets) - rows.bytes(line_));
  const bool others = std::ranges::any_of(
      std::views::iota(size_t{0}, s_.streams.size()),
      [&](size_t k) { return k != i && depth <= s_.streams[k].end_depth && !in_scratchpad(k); });
  return sum + crowding + (crowding > 0 && others ? cache.sets * line_ : 0);
}

const Footprint& ReuseModel::rows_at(const View& v, size_t i, size_t depth) const {
  return depth == 0 ? v.whole[i] : shapes_[i][depth];
}

double ReuseModel::conflict_end(const View& v, size_t depth, const Level& cache,
                                double instances) const {
  return working_set(v, depth) / instances <= cache.capacity.value
             ? std::max(cache.end, kConflictMissEnd * cache.capacity.value)
             : cache.end;
}

double ReuseModel::bytes_when_held(const View& v, size_t i, size_t j) const {
  const Stream& st = s_.streams[i];
  // Neighbours in a line that are touched at different times fetch it again after its eviction.
  if (st.touched_once && shapes_[i][std::min(j, st.end_depth)].run >= line_)
    return v.footprint[i][0];
  if (j > st.end_depth) return bytes_when_lost(v, i);
  size_t d = j;
  while (d > 0 && !st.moves[static_cast<size_t>(s_.nest.loops[d - 1].axis)]) --d;
  if (d > 0) --d;
  return v.refetched[i][d];
}

double ReuseModel::bytes_read_together(size_t i) const {
  double walked = 1, times = 1;
  size_t groups = 0;
  for (size_t d = s_.nest.loops.size(); d-- > 0;) {
    const lower::Loop& l = s_.nest.loops[d];
    if (!l.group) continue;
    groups = std::max(groups, d + 1);
    const double trips = static_cast<double>(l.trips),
                 covered = std::clamp(concurrent_groups_ / walked, 1.0, trips);
    times *= s_.streams[i].moves[static_cast<size_t>(l.axis)] ? trips : trips / covered;
    walked *= trips;
  }
  return times * device_.footprint[i][std::min(groups, s_.streams[i].end_depth)];
}

}  // namespace assay::model
