#include "model/access_runs.h"

#include <algorithm>
#include <cmath>

#include "model/retention.h"
#include "model/reuse.h"

namespace assay::model {

namespace {

Stream spanned(Stream s) {
  s.with_gaps = true;
  return s;
}

}  // namespace

AccessRuns::AccessRuns(const ir::Program& p, const Streams& s, const Machine& m, double line,
                       const std::vector<std::vector<Footprint>>& shapes)
    : p_(p), s_(s), m_(m), line_(line), shapes_(shapes) {
  for (const Stream& st : s.streams)
    spans_.push_back(has_gaps(p, st) ? footprints(p, s, spanned(st), line)
                                     : std::vector<Footprint>{});
}

const std::vector<Footprint>& AccessRuns::prefetched_shape(size_t i) const {
  return spans_[i].empty() ? shapes_[i] : spans_[i];
}

double AccessRuns::prefetchable_run(size_t i) const {
  const Stream& st = s_.streams[i];
  double run = prefetched_shape(i).back().run, rows = prefetched_shape(i).back().rows;
  if (run >= line_ && rows > m_.prefetch_streams) return run;
  for (size_t d = st.end_depth; d-- > 0;) {
    const Footprint& outer = prefetched_shape(i)[d];
    if (!st.moves[static_cast<size_t>(s_.nest.loops[d].axis)]) continue;
    if (outer.run <= run) break;
    if (run >= line_ && outer.rows != rows) return std::max(run, outer.run * outer.rows / rows);
    run = outer.run;
    rows = outer.rows;
  }
  return run;
}

bool AccessRuns::prefetched(size_t i) const {
  const Stream& st = s_.streams[i];
  if (p_.prefetch == 0 || p_.vector_axis < 0 || st.written || st.end_depth < s_.nest.loops.size())
    return false;
  if (s_.nest.first_inner == s_.nest.loops.size()) return false;
  return st.moves[static_cast<size_t>(p_.vector_axis)] &&
         st.moves[static_cast<size_t>(s_.nest.loops.back().axis)];
}

double AccessRuns::prefetches_evicted_before_use(size_t i, const Level& cache) const {
  Footprint ahead = shapes_[i][s_.nest.loops.size() - 1];
  ahead.near_rows = ahead.rows = std::min(ahead.near_rows, static_cast<double>(p_.prefetch) + 1);
  ahead.far_rows = 1;
  if (ahead.bytes(line_) > cache.capacity.value) return 0;
  return 1 - hit_fraction(cache, ahead.occupied(line_, cache.sets),
                          kConflictMissEnd * cache.capacity.value);
}

double AccessRuns::evicted_prefetches(size_t i, const Level& cache) const {
  if (m_.simt || s_.streams[i].written || prefetched(i) || prefetchable_run(i) <= line_) return 0;
  return 1 - hit_fraction(cache, shapes_[i].back().occupied(line_, cache.sets),
                          kConflictMissEnd * cache.capacity.value);
}

const Footprint& AccessRuns::interleaved_rows(size_t i) const {
  const std::vector<Footprint>& walk = prefetched_shape(i);
  size_t rows = walk.size() - 1;
  for (size_t d = s_.streams[i].end_depth; d-- > 0;) {
    if (!s_.streams[i].moves[static_cast<size_t>(s_.nest.loops[d].axis)]) continue;
    if (walk[d].run > std::max(walk[rows].run, line_)) break;
    rows = d;
  }
  return shapes_[i][rows];
}

double AccessRuns::set_conflicts(size_t i, double bytes, const Level& cache) const {
  return set_conflicts(interleaved_rows(i), bytes, cache);
}

double AccessRuns::set_conflicts(const Footprint& f, double bytes, const Level& cache) const {
  const double lines = f.row_lines(line_), sets = f.sets_touched(line_, cache.sets);
  const double ways = std::floor(cache.capacity.value / (cache.sets * line_));
  if (m_.simt || cache.shared || f.near_rows <= 1 || lines <= sets * std::max(1.0, ways)) return 0;
  const double ahead = m_.hidden_latency * m_.clock;  // lines, one a cycle
  return bytes / line_ / std::min(cache.sets, sets * std::max(1.0, ahead / lines));
}

bool AccessRuns::has_set_conflicts(size_t i, const Level& cache) const {
  const Footprint& f = shapes_[i].back();
  return f.occupied(line_, cache.sets) > f.bytes(line_);
}

}  // namespace assay::model
