#include "model/traffic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "model/retention.h"

namespace assay::model {

namespace {

constexpr double kConflictEnd = 2;  // times the capacity
constexpr double kLongRun = 8192;   // bytes: prefetchers of units' own caches have caught up; two
                                    // pages, as seen on one machine
constexpr double kCloseLines = 4;   // between rows that are walked as one
constexpr double kNothing = 1e-6;   // a part that does not count
constexpr double kLinesAhead = 48;  // that a core brings while it works on others; assumed, by the
                                    // same loops as kUpdateConflictCost
constexpr double kWaitingSets =
    8;  // which wait for a line from behind the next cache as long as one does; assumed, by loops
        // over rows 0.25 to 16 KiB apart on one core (B)
constexpr double kStreamsFollowed = 16;  // by a core's prefetchers; assumed, designs have 16 to 32

// Footprints per stream and depth, and trips per loop, seen by one unit or by the whole device.
struct View {
  std::vector<std::vector<double>> footprint;  // [stream][depth]
  std::vector<std::vector<double>>
      refetched;                 // [stream][depth]: when only what is inside the depth stays
  double shrink = 1;             // of streams that move with the outermost loop, at depth 0
  double at_once = 1;            // groups that run side by side
  std::vector<Footprint> whole;  // [stream]: depth 0
};

Stream spanned(Stream s) {
  s.whole = true;
  return s;
}

class Traffic {
 public:
  Traffic(const ir::Program& p, const Streams& s, const Machine& m, const Residency& r,
          const std::vector<double>& most, double line, double at_once)
      : p_(p), s_(s), m_(m), resident_(r), most_(most), line_(line) {
    for (const Stream& st : s.streams) {
      shapes_.push_back(footprints(p, s, st, line));
      spans_.push_back(leaves_out(p, st) ? footprints(p, s, spanned(st), line)
                                         : std::vector<Footprint>{});
    }
    const double groups = static_cast<double>(ir::group_count(p)),
                 units = std::min(m.units, groups);
    side_by_side_ = m.simt ? std::min(groups, at_once * units) : 1;
    device_ =
        view(1, 1);  // what several groups read at about the same time is there for all of them
    unit_ = view(units, std::min(at_once, std::ceil(groups / units)));
  }

  LevelTraffic level(size_t l) const {
    const Level& cache = m_.levels[l];
    return cache.on_chip_explicit ? explicit_level(l) : automatic_level(l);
  }

  // Lines that one unit fetches again after it had them, `held` of them in all.
  double missed(double held) const {
    const size_t depths = s_.nest.loops.size() + 1;
    double once = 0;
    for (size_t i = 0; i < s_.streams.size(); ++i) once += unit_.footprint[i][0];
    for (size_t j = 0; j < depths; ++j) {
      double size = 0, bytes = 0;
      for (size_t i = 0; i < s_.streams.size(); ++i) {
        if (j <= s_.streams[i].until)
          size += j == 0 ? unit_.whole[i].bytes(line_) : shapes_[i][j].bytes(line_);
        bytes += reused(unit_, i, j);
      }
      if (size <= held * line_)
        return j == 0 ? 0 : bytes / line_;  // where all fits it was there before
    }
    double bytes = 0;
    for (size_t i = 0; i < s_.streams.size(); ++i) bytes += unreused(unit_, i);
    return std::max(once, bytes) / line_;
  }

  // The same where the buffer holds a part of them (retention.h). Rows a power of two of lines
  // apart meet in a part of its sets.
  double missed(const Level& buffer) const {
    double bytes = 0, left = 1;
    for (size_t j = 0; j <= s_.nest.loops.size() && left > kNothing; ++j) {
      double size = 0, again = 0;
      for (size_t i = 0; i < s_.streams.size(); ++i) {
        if (j <= s_.streams[i].until)
          size += (j == 0 ? unit_.whole[i] : shapes_[i][j]).crowding(line_);
        again += j == 0 ? 0 : reused(unit_, i, j);
      }
      const double h = hit_fraction(buffer, size, buffer.end);
      bytes += left * h * again;
      left *= 1 - h;
    }
    double all = 0;
    for (size_t i = 0; i < s_.streams.size(); ++i) all += unreused(unit_, i);
    return (bytes + left * all) / line_;
  }

 private:
  // One unit works on 1/share of the outermost group loop, `at_once` of its groups at a time. Of
  // cores the average one: the busiest one's part is the estimate's to know.
  View view(double share, double at_once) const {
    View v;
    v.at_once = at_once;
    const size_t depths = s_.nest.loops.size() + 1;
    if (!s_.nest.loops.empty() && s_.nest.loops[0].group && share > 1) {
      const double all = static_cast<double>(s_.nest.loops[0].trips);
      v.shrink = m_.simt ? std::ceil(all / share) / all : 1 / std::min(all, share);
    }
    for (const Stream& st : s_.streams) v.whole.push_back(part_of_unit(p_, s_, st, share, line_));
    for (size_t i = 0; i < s_.streams.size(); ++i) {
      std::vector<double> f(depths, 0);
      for (size_t d = 0; d < shapes_[i].size(); ++d)
        f[d] = shapes_[i][d].bytes(line_) * part(v, s_.streams[i], d);
      v.refetched.push_back(refetched(v, i, f));
      v.footprint.push_back(std::move(f));
    }
    return v;
  }

  // Never less than what a larger cache would fetch, never more than the accesses there are.
  std::vector<double> refetched(const View& v, size_t i,
                                const std::vector<double>& footprint) const {
    const double most = i < most_.size() ? std::max(footprint[0], most_[i] * v.shrink)
                                         : std::numeric_limits<double>::max();
    std::vector<double> out;
    for (size_t d = 0; d <= s_.streams[i].until && d < footprint.size(); ++d) {
      const double bytes = std::min(most, footprint[d] * passes(v, s_.streams[i], d));
      out.push_back(d == 0 ? bytes : std::max(bytes, out.back()));
    }
    return out;
  }

  // How often the loops outside a depth run what is inside, in footprints of a stream. The last
  // tile of an axis may be partial: a stream that moves with the axis touches less of itself there.
  double passes(const View& v, const Stream& st, size_t depth) const {
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

  double part(const View& v, const Stream& st, size_t depth) const {
    const bool mine =
        depth == 0 && v.shrink < 1 && st.moves[static_cast<size_t>(s_.nest.loops[0].axis)];
    return mine ? v.shrink : 1;
  }

  // Copies that lie in a group's own memory on the chip take no room in caches.
  bool lies_in_own_memory(size_t i) const {
    return s_.streams[i].staging >= 0 &&
           std::any_of(m_.levels.begin(), m_.levels.end(),
                       [](const Level& l) { return l.on_chip_explicit; });
  }

  // Bytes of caches that everything inside a depth touches, of groups that run side by side.
  double touched(const View& v, size_t depth) const {
    double sum = 0;
    for (size_t i = 0; i < s_.streams.size(); ++i)
      if (depth <= s_.streams[i].until && !lies_in_own_memory(i))
        sum += tiles_at_once(v, i, depth) * v.footprint[i][depth];
    return sum;
  }

  // Different tiles of a stream that groups side by side touch: those dealt to all units follow
  // each other in the order of the nest, so loops that do not move the stream walk over the same
  // ones; of those that a unit gets each may be another.
  double tiles_at_once(const View& v, size_t i, size_t depth) const {
    if (v.at_once <= 1) return 1;
    double walked = 1, different = 1;
    for (size_t d = s_.nest.loops.size(); d-- > 0;) {
      const lower::Loop& l = s_.nest.loops[d];
      if (!l.group) continue;
      const double trips = static_cast<double>(l.trips),
                   covered = std::clamp(side_by_side_ / walked, 1.0, trips);
      if (d < depth && s_.streams[i].moves[static_cast<size_t>(l.axis)]) different *= covered;
      walked *= trips;
    }
    return std::min(different, v.at_once);
  }

  // Capacity that a stream needs in a cache beside the others inside a depth. Its rows that meet in
  // a few sets stand in each other's way; arrays begin at different places of their pages, so that
  // those of others lie elsewhere. What else passes through these sets takes a way.
  double needed(const View& v, size_t i, size_t depth, const Level& cache) const {
    const double sum = touched(v, depth);
    if (depth > s_.streams[i].until || lies_in_own_memory(i)) return sum;
    const Footprint& rows = rows_at(v, i, depth);
    const double crowding = tiles_at_once(v, i, depth) *
                            std::max(0.0, rows.occupied(line_, cache.sets) - rows.bytes(line_));
    const bool others = std::ranges::any_of(
        std::views::iota(size_t{0}, s_.streams.size()),
        [&](size_t k) { return k != i && depth <= s_.streams[k].until && !lies_in_own_memory(k); });
    return sum + crowding + (crowding > 0 && others ? cache.sets * line_ : 0);
  }

  const Footprint& rows_at(const View& v, size_t i, size_t depth) const {
    return depth == 0 ? v.whole[i] : shapes_[i][depth];
  }

  // Rows that crowd a few sets of a cache with room elsewhere go little by little, since which line
  // has to leave a set is not the one longest unused: the last have gone at twice what fits.
  double crowded_end(const View& v, size_t depth, const Level& cache, double instances) const {
    return touched(v, depth) / instances <= cache.capacity.value
               ? std::max(cache.end, kConflictEnd * cache.capacity.value)
               : cache.end;
  }

  // As a core's prefetchers take them: they follow strides as they do what lies side by side.
  const std::vector<Footprint>& walked(size_t i) const {
    return spans_[i].empty() ? shapes_[i] : spans_[i];
  }

  // Bytes that a stream touches one behind the other as the nest walks, before it jumps. Rows that
  // are walked side by side, each a line or more, end where their neighbours began, and prefetchers
  // follow only so many of them.
  double straight_run(size_t i) const {
    const Stream& st = s_.streams[i];
    double run = walked(i).back().run, rows = walked(i).back().rows;
    if (run >= line_ && rows > kStreamsFollowed) return run;
    for (size_t d = st.until; d-- > 0;) {
      const Footprint& outer = walked(i)[d];
      if (!st.moves[static_cast<size_t>(s_.nest.loops[d].axis)]) continue;
      if (outer.run <= run) break;
      if (run >= line_ && outer.rows != rows) return std::max(run, outer.run * outer.rows / rows);
      run = outer.run;
      rows = outer.rows;
    }
    return run;
  }

  struct Rows {
    double run = 0, n = 1;  // bytes of each
  };
  // Those that lie a few lines apart are one.
  Rows rows_of(const Footprint& f) const {
    const bool close =
        f.near_rows > 1 && f.rows == f.near_rows && f.stride - f.run <= kCloseLines * line_;
    return close ? Rows{f.stride * f.rows, 1} : Rows{f.run, f.rows};
  }

  // As a unit's own caches see it: does the nest walk a row, or several side by side, only a short
  // way before it turns to others?
  bool lies_apart(size_t i) const {
    const Stream& st = s_.streams[i];
    Rows rows = rows_of(walked(i).back());
    for (size_t d = st.until; d-- > 0 && rows.n <= kStreamsFollowed && rows.run < kLongRun;) {
      if (!st.moves[static_cast<size_t>(s_.nest.loops[d].axis)]) continue;
      const Rows outer = rows_of(walked(i)[d]);
      if (outer.n < rows.n)
        rows.run =
            outer.run * outer.n / rows.n;  // wholly covered, rows that follow each other are one
      if (outer.n < rows.n || outer.run <= rows.run || (rows.n > 1 && outer.n > rows.n)) break;
      rows = outer;
    }
    return rows.run < kLongRun;
  }

  // Does the code prefetch the stream (lower's TileBody::emit_prefetch)?
  bool prefetched(size_t i) const {
    const Stream& st = s_.streams[i];
    if (p_.prefetch == 0 || p_.vector_axis < 0 || st.written || st.until < s_.nest.loops.size())
      return false;
    if (s_.nest.first_inner == s_.nest.loops.size()) return false;
    return st.moves[static_cast<size_t>(p_.vector_axis)] &&
           st.moves[static_cast<size_t>(s_.nest.loops.back().axis)];
  }

  // The part of the lines prefetched some rows ahead that have gone before their turn comes, since
  // so many rows of a stride crowd a set: they are fetched a second time.
  double prefetches_evicted_before_use(size_t i, const Level& cache) const {
    Footprint ahead = shapes_[i][s_.nest.loops.size() - 1];
    ahead.near_rows = ahead.rows = std::min(ahead.near_rows, static_cast<double>(p_.prefetch) + 1);
    ahead.far_rows = 1;
    if (ahead.bytes(line_) > cache.capacity.value) return 0;
    return 1 - hit_fraction(cache, ahead.occupied(line_, cache.sets),
                            kConflictEnd * cache.capacity.value);
  }

  // The part of what prefetchers bring of rows that are walked side by side which has gone before
  // its turn, since more of them meet in a set than it has ways.
  double evicted_prefetches(size_t i, const Level& cache) const {
    if (m_.simt || s_.streams[i].written || prefetched(i) || straight_run(i) <= line_) return 0;
    return 1 - hit_fraction(cache, shapes_[i].back().occupied(line_, cache.sets),
                            kConflictEnd * cache.capacity.value);
  }

  // Rows that the nest walks side by side before it goes on along them, by a line or more.
  const Footprint& side_by_side(size_t i) const {
    const std::vector<Footprint>& walk = walked(i);
    size_t rows = walk.size() - 1;
    for (size_t d = s_.streams[i].until; d-- > 0;) {
      if (!s_.streams[i].moves[static_cast<size_t>(s_.nest.loops[d].axis)]) continue;
      if (walk[d].run > std::max(walk[rows].run, line_)) break;
      rows = d;
    }
    return shapes_[i][rows];
  }

  // Of `bytes` that come into a cache or leave it, lines of rows that share a few of its sets: each
  // set takes one after the other. A core that looks ahead has several columns of few rows under
  // way, which lie in sets of their own.
  double set_conflicts(size_t i, double bytes, const Level& cache) const {
    return set_conflicts(side_by_side(i), bytes, cache);
  }

  double set_conflicts(const Footprint& f, double bytes, const Level& cache) const {
    const double lines = f.row_lines(line_), sets = f.sets_touched(line_, cache.sets);
    if (m_.simt || cache.shared || f.near_rows <= 1 || lines <= sets) return 0;
    const double at_once = std::min(cache.sets, sets * std::max(1.0, kLinesAhead / lines));
    return bytes / line_ / at_once;
  }

  bool crowds(size_t i, const Level& cache) const {
    const Footprint& f = shapes_[i].back();
    return f.occupied(line_, cache.sets) > f.bytes(line_);
  }

  // Bytes of stream `i` when everything inside depth j fits; `inner`: the stream's code stands
  // outside depth j, so nothing of it survives.
  double reused(const View& v, size_t i, size_t j) const {
    const Stream& st = s_.streams[i];
    // Neighbours in a line that are not touched together touch it again, once it has gone.
    if (st.once && shapes_[i][std::min(j, st.until)].run >= line_) return v.footprint[i][0];
    if (j > st.until) return unreused(v, i);
    size_t d = j;
    while (d > 0 && !st.moves[static_cast<size_t>(s_.nest.loops[d - 1].axis)]) --d;
    if (d > 0) --d;
    return v.refetched[i][d];
  }

  double unreused(const View& v, size_t i) const { return v.refetched[i].back(); }

  // Bytes of a stream when groups that run side by side read what they have in common at about the
  // same time, and rounds of them leave nothing to each other.
  double together(size_t i) const {
    double walked = 1, times = 1;
    size_t groups = 0;
    for (size_t d = s_.nest.loops.size(); d-- > 0;) {
      const lower::Loop& l = s_.nest.loops[d];
      if (!l.group) continue;
      groups = std::max(groups, d + 1);
      const double trips = static_cast<double>(l.trips),
                   covered = std::clamp(side_by_side_ / walked, 1.0, trips);
      times *= s_.streams[i].moves[static_cast<size_t>(l.axis)] ? trips : trips / covered;
      walked *= trips;
    }
    return times * device_.footprint[i][std::min(groups, s_.streams[i].until)];
  }

  LevelTraffic automatic_level(size_t l) const {
    const Level& cache = m_.levels[l];
    const bool shared = cache.shared;
    const View& v = shared ? device_ : unit_;
    // Units of one instance beyond the shared view's one device: several instances split it.
    const double instances = shared ? cache.instances : 1;
    const size_t depths = s_.nest.loops.size() + 1;
    std::vector<double> bytes(s_.streams.size(), 0);
    LevelTraffic out;
    // Units that share a turn of the outermost loop out among them together touch what one of it
    // would.
    const double turns = s_.nest.loops.empty() || !s_.nest.loops[0].group
                             ? 1
                             : static_cast<double>(s_.nest.loops[0].trips);
    const double units =
        shared ? 1 : std::min({m_.units, static_cast<double>(ir::group_count(p_)), turns});
    std::vector<double> left(bytes.size(),
                             1);  // weight of the cases in which no outer depth fitted
    for (size_t j = 0; j < depths; ++j) {
      const double size = touched(v, j) / instances, end = crowded_end(v, j, cache, instances);
      if (hit_fraction(cache, size, end) > 0 && out.working_set == 0) out.working_set = size;
      for (size_t i = 0; i < bytes.size(); ++i) {
        const double h =
            left[i] > kNothing ? hit_fraction(cache, needed(v, i, j, cache) / instances, end) : 0;
        bytes[i] += left[i] * h * (h > 0 ? reused(v, i, j) : 0);
        left[i] *= 1 - h;
      }
    }
    // Not even one register tile's rows stay, since they crowd a few sets: each access fetches its
    // line.
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (lies_in_own_memory(i)) continue;
      const double all = crowds(i, cache) && i < most_.size() ? most_[i] * v.shrink : 0;
      bytes[i] += left[i] * std::max(all, unreused(v, i));
      if (shared && side_by_side_ > 1)
        bytes[i] = std::min(bytes[i], std::max(v.footprint[i][0], together(i)));
      if (l == 0 && prefetched(i)) bytes[i] *= 1 + prefetches_evicted_before_use(i, cache);
      if (l == 0 && crowds(i, cache)) bytes[i] += evicted_prefetches(i, cache) * unreused(v, i);
    }
    // What was written is written back once the program's other operands have driven it out; it
    // stays where all fit.
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (lies_in_own_memory(i)) {
        out.streams.emplace_back();
        continue;
      }
      if (s_.streams[i].staging >= 0) {
        const size_t inside = staged_depth(i);
        const double kept = hit_fraction(cache, needed(v, i, inside, cache) / instances, cache.end);
        out.streams.push_back(copied(bytes[i] * units, v.refetched[i][inside] * units, kept));
        continue;
      }
      const double stays = hit_fraction(cache, needed(v, i, 0, cache) / instances, cache.end);
      out.streams.push_back(split(i, bytes[i] * units, l, v.footprint[i][0] * units, stays));
    }
    total(out);
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (lies_in_own_memory(i)) continue;
      const Stream& s = s_.streams[i];
      const bool copy = s.staging >= 0;
      const double lines =
          set_conflicts(i, out.streams[i].read + (copy ? 0 : out.streams[i].written), m_.levels[0]);
      if (copy && l == 0)
        out.copy_set_conflicts +=
            set_conflicts(written_side_by_side(p_, s, line_), out.streams[i].written, m_.levels[0]);
      if (s.written)
        out.set_conflicts_dirty +=
            (s.read ? kUpdateConflictCost : 1) * lines / 2;  // they come, and leave
      else {
        out.set_conflicts += lines;
        out.unprefetched_set_conflicts +=
            lines * std::min(kWaitingSets, side_by_side(i).sets_touched(line_, m_.levels[0].sets)) *
            line_ / std::max(line_, straight_run(i));
      }
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (!lies_apart(i)) continue;
      out.short_run_read += out.streams[i].read;
      out.short_run_written += out.streams[i].written;
    }
    for (size_t i = 0; i < bytes.size(); ++i)
      out.unprefetched += out.streams[i].read / std::max(line_, straight_run(i)) *
                          (prefetched(i) ? prefetches_evicted_before_use(i, m_.levels[0]) : 1);
    return out;
  }

  // Copies of staged operands enter; other operands pass by to the registers, line by line.
  LevelTraffic explicit_level(size_t l) const {
    LevelTraffic out;
    for (size_t i = 0; i < s_.streams.size(); ++i) {
      const Stream& st = s_.streams[i];
      const bool copy = st.staging >= 0;
      const double bytes = copy ? 0 : st.once ? device_.footprint[i][0] : unreused(device_, i);
      out.streams.push_back(split(i, bytes, l, device_.footprint[i][0], 0));
    }
    for (size_t i = 0; i < s_.streams.size(); ++i)
      if (s_.streams[i].staging >= 0)
        out.working_set += device_.footprint[i][s_.nest.loops.size() == 0 ? 0 : staged_depth(i)];
    total(out);
    return out;
  }

  size_t staged_depth(size_t i) const {
    const ir::Staging& stage = p_.staging[static_cast<size_t>(s_.streams[i].staging)];
    return static_cast<size_t>(lower::staging_place(p_, s_.nest, stage) + 1);
  }

  // Of an argument: what is already in the cache is not read again the first time round.
  // What was written stays where it fits until a later program reads or overwrites it: `kept` of it
  // is not written back. Unless its lines were not there: then they come first, and others leave
  // for them.
  StreamTraffic split(size_t i, double bytes, size_t l, double once, double kept) const {
    const Stream& st = s_.streams[i];
    StreamTraffic t;
    if (st.written) {
      t.written = std::max(0.0, bytes - once * std::min(kept, there(st, l)));
      t.read = st.read || m_.levels[l].write_allocates ? std::max(0.0, bytes - once) : 0;
      return t;
    }
    const double here = resident(st, l);
    t.read = bytes <= once * 1.0001 ? bytes * (1 - here) : bytes - once * here;
    return t;
  }

  // Of a staged operand, of whose copies `all` bytes are written one after the other into the same
  // place: the part `kept` stays until it is overwritten, where all that one copy's turn touches
  // fits. The rest leaves and comes back to be read, and what is read again, of `bytes` in all,
  // once more.
  static StreamTraffic copied(double bytes, double all, double kept) {
    StreamTraffic t;
    t.written = all * (1 - kept);
    t.read = std::max(0.0, bytes - all) + t.written;
    return t;
  }

  double resident(const Stream& st, size_t l) const {
    return static_cast<size_t>(st.tensor) < resident_.size()
               ? resident_[static_cast<size_t>(st.tensor)][l]
               : 0;
  }

  // The part of what is written whose lines need not come first. Threads write whole sectors, which
  // nobody fetches.
  double there(const Stream& st, size_t l) const {
    return m_.simt || !m_.levels[l].write_allocates || resident_.empty() ? 1 : resident(st, l);
  }

  static void total(LevelTraffic& t) {
    for (const StreamTraffic& s : t.streams) {
      t.read += s.read;
      t.written += s.written;
    }
  }

  const ir::Program& p_;
  const Streams& s_;
  const Machine& m_;
  double side_by_side_ = 1;  // groups of all units at a time
  const Residency& resident_;
  const std::vector<double>& most_;
  const double line_;
  std::vector<std::vector<Footprint>> shapes_;  // [stream][depth]
  std::vector<std::vector<Footprint>>
      spans_;  // the same with what lies between the positions that are read; empty: nothing
  View device_, unit_;
};

// Of all units; `held`: what one of them has room for.
template <class Held>
double pages(const ir::Program& p, const Streams& s, const Machine& m, double page,
             const Held& held) {
  const Residency cold;
  const std::vector<double> any;
  return Traffic(p, s, m, cold, any, page, 1).missed(held) *
         std::min(m.units, static_cast<double>(ir::group_count(p)));
}

}  // namespace

std::vector<LevelTraffic> traffic(const ir::Program& p, const Streams& s, const Machine& m,
                                  const Residency& resident, const std::vector<double>& most,
                                  double at_once) {
  const Traffic t(p, s, m, resident, most, m.levels[0].line, at_once);
  std::vector<LevelTraffic> out;
  for (size_t l = 0; l + 1 < m.levels.size(); ++l) out.push_back(t.level(l));
  return out;
}

double pages_missed(const ir::Program& p, const Streams& s, const Machine& m) {
  return m.translations > 0 ? pages(p, s, m, m.page, m.translations) : 0;
}

double pages_walked(const ir::Program& p, const Streams& s, const Machine& m) {
  return m.walked.capacity.value > 0 ? pages(p, s, m, m.walked.line, m.walked) : 0;
}

}  // namespace assay::model
