#include "model/access_runs.h"

#include <algorithm>
#include <cmath>

#include "model/retention.h"
#include "model/reuse.h"

namespace assay::model {

namespace {

// Bytes after which prefetchers of a unit's own caches have caught up: two pages, on one machine.
constexpr double kPrefetcherRampUp = 8192;
constexpr double kCloseLines = 4;  // between rows that are walked as one
// Lines that a core has under way while it works on others. Assumed, by the loops of
// kUpdateConflictCost.
constexpr double kLinesInFlight = 48;
constexpr double kPrefetchStreams = 16;  // of a core's prefetchers; assumed, designs have 16 to 32

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
  if (run >= line_ && rows > kPrefetchStreams) return run;
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

AccessRuns::Rows AccessRuns::rows_of(const Footprint& f) const {
  const bool close =
      f.near_rows > 1 && f.rows == f.near_rows && f.stride - f.run <= kCloseLines * line_;
  return close ? Rows{f.stride * f.rows, 1} : Rows{f.run, f.rows};
}

bool AccessRuns::in_short_runs(size_t i) const {
  const Stream& st = s_.streams[i];
  Rows rows = rows_of(prefetched_shape(i).back());
  for (size_t d = st.end_depth;
       d-- > 0 && rows.n <= kPrefetchStreams && rows.run < kPrefetcherRampUp;) {
    if (!st.moves[static_cast<size_t>(s_.nest.loops[d].axis)]) continue;
    const Rows outer = rows_of(prefetched_shape(i)[d]);
    if (outer.n < rows.n)
      rows.run = outer.run * outer.n / rows.n;  // wholly covered, consecutive rows are one
    if (outer.n < rows.n || outer.run <= rows.run || (rows.n > 1 && outer.n > rows.n)) break;
    rows = outer;
  }
  return rows.run < kPrefetcherRampUp;
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
  if (m_.simt || cache.shared || f.near_rows <= 1 || lines <= sets) return 0;
  const double at_once = std::min(cache.sets, sets * std::max(1.0, kLinesInFlight / lines));
  return bytes / line_ / at_once;
}

bool AccessRuns::has_set_conflicts(size_t i, const Level& cache) const {
  const Footprint& f = shapes_[i].back();
  return f.occupied(line_, cache.sets) > f.bytes(line_);
}

}  // namespace assay::model
