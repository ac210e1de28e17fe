#include "model/traffic.h"

#include <algorithm>

#include "model/access_runs.h"
#include "model/retention.h"
#include "model/reuse.h"

namespace assay::model {

namespace {

class Traffic {
 public:
  Traffic(const ir::Program& p, const Streams& s, const Machine& m, const CachedFractions& r,
          const std::vector<double>& most, double line, double at_once)
      : p_(p),
        s_(s),
        m_(m),
        resident_(r),
        most_(most),
        line_(line),
        reuse_(p, s, m, most, line, at_once),
        runs_(p, s, m, line, reuse_.shapes()) {}

  LevelTraffic level(size_t l) const {
    const Level& cache = m_.levels[l];
    return cache.is_scratchpad ? scratchpad_level(l) : cache_level(l);
  }

 private:
  LevelTraffic cache_level(size_t l) const {
    const Level& cache = m_.levels[l];
    const bool shared = cache.shared;
    const ReuseModel::View& v = shared ? reuse_.device() : reuse_.unit();
    // Several instances of a shared cache split the device's working set.
    const double instances = shared ? cache.instances : 1;
    const size_t depths = s_.nest.loops.size() + 1;
    std::vector<double> bytes(s_.streams.size(), 0);
    LevelTraffic out;
    // Units that share an iteration of the outermost loop touch together what one unit would.
    const double turns = s_.nest.loops.empty() || !s_.nest.loops[0].group
                             ? 1
                             : static_cast<double>(s_.nest.loops[0].trips);
    const double units =
        shared ? 1 : std::min({m_.units, static_cast<double>(ir::group_count(p_)), turns});
    // Probability that no outer depth fitted.
    std::vector<double> left(bytes.size(), 1);
    for (size_t j = 0; j < depths; ++j) {
      const double size = reuse_.working_set(v, j) / instances,
                   end = reuse_.conflict_end(v, j, cache, instances);
      if (hit_fraction(cache, size, end) > 0 && out.working_set == 0) out.working_set = size;
      for (size_t i = 0; i < bytes.size(); ++i) {
        const double h =
            left[i] > kNegligible
                ? hit_fraction(cache, reuse_.capacity_needed(v, i, j, cache) / instances, end)
                : 0;
        bytes[i] += left[i] * h * (h > 0 ? reuse_.bytes_when_held(v, i, j) : 0);
        left[i] *= 1 - h;
      }
    }
    // Set conflicts evict even one register tile's rows: each access fetches its line.
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (reuse_.in_scratchpad(i)) continue;
      const double all =
          runs_.has_set_conflicts(i, cache) && i < most_.size() ? most_[i] * v.shrink : 0;
      bytes[i] += left[i] * std::max(all, reuse_.bytes_when_lost(v, i));
      if (shared && reuse_.concurrent_groups() > 1)
        bytes[i] = std::min(bytes[i], std::max(v.footprint[i][0], reuse_.bytes_read_together(i)));
      if (l == 0 && runs_.prefetched(i))
        bytes[i] *= 1 + runs_.prefetches_evicted_before_use(i, cache);
      if (l == 0 && runs_.has_set_conflicts(i, cache))
        bytes[i] += runs_.evicted_prefetches(i, cache) * reuse_.bytes_when_lost(v, i);
    }
    // Dirty lines are written back once the program's other operands evict them, not where all fit.
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (reuse_.in_scratchpad(i)) {
        out.streams.emplace_back();
        continue;
      }
      if (s_.streams[i].staging >= 0) {
        const size_t inside = staged_depth(i);
        const double kept =
            hit_fraction(cache, reuse_.capacity_needed(v, i, inside, cache) / instances, cache.end);
        out.streams.push_back(copy_traffic(bytes[i] * units, v.refetched[i][inside] * units, kept));
        continue;
      }
      const double stays =
          hit_fraction(cache, reuse_.capacity_needed(v, i, 0, cache) / instances, cache.end);
      out.streams.push_back(
          argument_traffic(i, bytes[i] * units, l, v.footprint[i][0] * units, stays));
    }
    add_up(out);
    add_sorting(cache, instances, out);
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (reuse_.in_scratchpad(i)) continue;
      const Stream& s = s_.streams[i];
      const bool copy = s.staging >= 0;
      const double lines = runs_.set_conflicts(
          i, out.streams[i].read + (copy ? 0 : out.streams[i].written), m_.levels[0]);
      if (copy && l == 0)
        out.copy_set_conflicts += runs_.set_conflicts(rows_written_by_copy(p_, s, line_),
                                                      out.streams[i].written, m_.levels[0]);
      if (s.written)
        out.set_conflicts_dirty += lines / 2;  // filled and written back
      else
        out.set_conflicts += lines;
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      const double run = std::max(line_, runs_.prefetchable_run(i));
      out.unprefetched +=
          out.streams[i].read / run *
          (runs_.prefetched(i) ? runs_.prefetches_evicted_before_use(i, m_.levels[0]) : 1);
      out.runs_written += out.streams[i].written / run;
    }
    return out;
  }

  // Copies of staged operands enter; other operands bypass it to the registers, line by line.
  LevelTraffic scratchpad_level(size_t l) const {
    LevelTraffic out;
    for (size_t i = 0; i < s_.streams.size(); ++i) {
      const Stream& st = s_.streams[i];
      const double bytes = in_scratch(st)    ? 0
                           : st.touched_once ? reuse_.device().footprint[i][0]
                                             : reuse_.bytes_when_lost(reuse_.device(), i);
      out.streams.push_back(argument_traffic(i, bytes, l, reuse_.device().footprint[i][0], 0));
    }
    for (size_t i = 0; i < s_.streams.size(); ++i)
      if (s_.streams[i].staging >= 0)
        out.working_set +=
            reuse_.device().footprint[i][s_.nest.loops.size() == 0 ? 0 : staged_depth(i)];
    add_up(out);
    return out;
  }

  size_t staged_depth(size_t i) const {
    const ir::Staging& stage = p_.staging[static_cast<size_t>(s_.streams[i].staging)];
    return static_cast<size_t>(lower::staging_place(p_, s_.nest, stage) + 1);
  }

  // Of an argument. The first time, what is cached is not read. What was written stays where it
  // fits until a later program reads or overwrites it: `kept` of it is not written back. Lines that
  // were not cached are allocated first (write-allocate) and evict others.
  BytesMoved argument_traffic(size_t i, double bytes, size_t l, double once, double kept) const {
    const Stream& st = s_.streams[i];
    BytesMoved t;
    if (st.written) {
      t.written = std::max(0.0, bytes - once * std::min(kept, resident_before_store(st, l)));
      t.read = st.read || m_.levels[l].write_allocates ? std::max(0.0, bytes - once) : 0;
      return t;
    }
    const double here = resident(st, l);
    t.read = bytes <= once * 1.0001 ? bytes * (1 - here) : bytes - once * here;
    return t;
  }

  // Of a staged operand, whose copies, `all` bytes, overwrite each other. The part `kept` stays
  // until it is overwritten, where all that one copy's iteration touches fits. The rest is written
  // back and read. What is read again, of `bytes` in all, is read once more.
  static BytesMoved copy_traffic(double bytes, double all, double kept) {
    BytesMoved t;
    t.written = all * (1 - kept);
    t.read = std::max(0.0, bytes - all) + t.written;
    return t;
  }

  double resident(const Stream& st, size_t l) const {
    return static_cast<size_t>(st.tensor) < resident_.size()
               ? resident_[static_cast<size_t>(st.tensor)][l]
               : 0;
  }

  // The part of what is written whose lines need not be read first. Threads write whole sectors,
  // which are not fetched.
  double resident_before_store(const Stream& st, size_t l) const {
    return m_.simt || !m_.levels[l].write_allocates || resident_.empty() ? 1 : resident(st, l);
  }

  // A sort reads and writes its scratch at each stage of the network.
  void add_sorting(const Level& cache, double instances, LevelTraffic& t) const {
    const auto groups = static_cast<double>(ir::group_count(p_));
    const lower::SortPlan sort = lower::sort_plan(p_);
    const double rows = 2 * static_cast<double>(sort.elements) * sizeof(float),
                 held = rows * (cache.shared ? std::min(m_.units, groups) / instances : 1);
    if (rows <= 0 || m_.levels[0].is_scratchpad) return;
    const double missed = rows * (1 - hit_fraction(cache, held, cache.end)) * tiles() * sort.walks;
    t.read += missed;
    t.written += missed;
  }
  double tiles() const {
    double n = 1;
    for (const lower::Loop& l : s_.nest.loops) n *= static_cast<double>(l.trips);
    return n;
  }

  static void add_up(LevelTraffic& t) {
    for (const BytesMoved& s : t.streams) {
      t.read += s.read;
      t.written += s.written;
    }
  }

  const ir::Program& p_;
  const Streams& s_;
  const Machine& m_;
  const CachedFractions& resident_;
  const std::vector<double>& most_;
  const double line_;
  const ReuseModel reuse_;
  const AccessRuns runs_;
};

}  // namespace

std::vector<LevelTraffic> traffic(const ir::Program& p, const Streams& s, const Machine& m,
                                  const CachedFractions& resident, const std::vector<double>& most,
                                  double at_once) {
  const Traffic t(p, s, m, resident, most, m.levels[0].line, at_once);
  std::vector<LevelTraffic> out;
  for (size_t l = 0; l + 1 < m.levels.size(); ++l) out.push_back(t.level(l));
  return out;
}

}  // namespace assay::model
