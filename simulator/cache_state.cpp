// What the caches hold between programs: storage in order of last use.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "lower/nest.h"
#include "model/retention.h"
#include "model/streams.h"
#include "simulator/residency.h"

namespace assay::simulator {

namespace {

// The dimension of a tensor that moves with the loop whose trips are dealt out to the units; -1:
// none.
int split_of(const ir::Program& p, int tensor, const lower::Nest& nest) {
  if (nest.loops.empty() || !nest.loops[0].group) return -1;
  const int axis = nest.loops[0].axis;
  for (const ir::Node& n : p.graph.nodes) {
    if (n.output == tensor) return axis;  // a node's first axes are its output's dimensions
    for (const ir::Read& r : n.reads)
      for (size_t d = 0; r.tensor == tensor && d < r.index.size(); ++d)
        if (ir::depends_on(r.index[d], axis)) return static_cast<int>(d);
  }
  return -1;
}

double units_of(const ir::Program& p, const model::Machine& m) {
  return std::max(1.0, std::min(m.units, static_cast<double>(ir::group_count(p))));
}

// A unit's part of each tensor, by what `size` makes of it: bytes of it in lines, or of the room it
// takes in a cache.
template <typename Size>
std::vector<double> part_sizes(const ir::Program& p, const model::Machine& m, const Size& size) {
  std::vector<double> out(p.graph.tensors.size(), 0);
  const model::Streams streams = model::streams_of(p);
  for (const model::Stream& s : streams.streams)
    if (s.staging < 0)
      out[static_cast<size_t>(s.tensor)] =
          size(model::part_of_unit(p, streams, s, units_of(p, m), m.levels[0].line));
  return out;
}

// The room a unit's part takes in the largest cache of its own: rows that crowd a few sets take
// more.
std::vector<double> room_taken(const ir::Program& p, const model::Machine& m) {
  double sets = 1;
  for (const model::Level& l : m.levels)
    if (!l.shared && !l.on_chip_explicit) sets = std::max(sets, l.sets);
  return part_sizes(p, m,
                    [&](const model::Footprint& f) { return f.occupied(m.levels[0].line, sets); });
}

bool is_written(const ir::Program& p, int tensor) {
  return std::any_of(p.graph.nodes.begin(), p.graph.nodes.end(),
                     [&](const ir::Node& n) { return n.output == tensor; });
}

// How the program's units share out the bytes of a tensor.
Dealt dealt(const ir::Program& p, int tensor, const lower::Nest& nest, const Range& where,
            double units) {
  const int dim = split_of(p, tensor, nest), users = static_cast<int>(units);
  if (users == 1) return {where.begin, where.end - where.begin, 1};
  if (dim < 0) return {where.begin, 0, users};
  const ir::Layout& layout = p.layouts[static_cast<size_t>(tensor)];
  const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(tensor)];
  const std::vector<int64_t> extents = ir::physical_shape(layout, t.shape);
  int64_t period = ir::bytes_of(t.dtype);
  for (size_t d = layout.dims.size(); d-- > 0;) {
    period *= extents[d];
    const auto outer = layout.dims.begin() + static_cast<std::ptrdiff_t>(d);
    if (std::none_of(layout.dims.begin(), outer,
                     [&](const ir::PhysicalDim& x) { return x.dim == dim; }) &&
        outer->dim == dim)
      break;
  }
  return {where.begin, period, users};
}

bool known_place(std::span<const Range> where, size_t tensor) {
  return tensor < where.size() && size_of(where[tensor]) > 0;
}

struct Walk {         // the last one of a unit through its own part of an operand
  double beside = 0;  // bytes of its parts of others that it touches meanwhile: of the innermost
                      // loops that go through all of that part
  double part = 1;    // of what the program does, by those bytes
  Places first{}, last{};
};

struct Turns {  // of a loop
  double trips = 1;
  bool moves = false;  // to other bytes of the operand
};

// When a walk comes to each of the places for the first time or the last one: loops that stay with
// the same bytes come back to them in each of their trips.
Places reached(std::span<const Turns> loops, bool last) {
  Places out{};
  for (size_t i = 0; i < out.size(); ++i) {
    double rest = (static_cast<double>(i) + 0.5) / static_cast<double>(out.size()), width = 1;
    for (const Turns& l : loops) {
      const double at = l.moves ? std::floor(rest * l.trips) : last ? l.trips - 1 : 0;
      if (l.moves) rest = rest * l.trips - at;
      width /= l.trips;
      out[i] += width * at;
    }
    out[i] += width * rest;
  }
  return out;
}

// By tensor.
std::vector<Walk> walks_of(const ir::Program& p, const model::Streams& streams,
                           const model::Machine& m) {
  const double line = m.levels[0].line, units = units_of(p, m);
  struct OpaquePointer {
    size_t tensor = 0;
    double part = 0;
    std::vector<double> within;  // a depth of the nest, at most the part
  };
  std::vector<double> trips;  // of a unit
  double others = units;      // that the groups are dealt out to
  for (const lower::Loop& l : streams.nest.loops) {
    const double all = static_cast<double>(l.trips);
    trips.push_back(l.group ? std::max(1.0, all / others) : all);
    if (l.group) others = std::max(1.0, others / all);
  }
  std::vector<OpaquePointer> all;
  for (const model::Stream& s : streams.streams) {
    if (s.staging >= 0) continue;
    OpaquePointer w{static_cast<size_t>(s.tensor),
                    model::part_of_unit(p, streams, s, units, line).bytes(line),
                    {}};
    for (const model::Footprint& f : model::footprints(p, streams, s, line))
      w.within.push_back(std::min(w.part, f.bytes(line)));
    all.push_back(std::move(w));
  }
  std::vector<Walk> out(p.graph.tensors.size());
  for (const OpaquePointer& w : all) {
    size_t depth = 0;
    while (depth + 1 < w.within.size() && w.within[depth + 1] >= w.part) ++depth;
    double beside = 0, whole = 0;
    for (const OpaquePointer& o : all) {
      if (o.tensor == w.tensor) continue;
      beside += depth == 0 ? o.part : o.within[std::min(depth, o.within.size() - 1)];
      whole += o.part;
    }
    if (beside < out[w.tensor].beside) continue;
    std::vector<Turns> loops;
    for (size_t d = depth; d + 1 < w.within.size(); ++d)
      loops.push_back({trips[d], w.within[d + 1] < w.within[d]});
    out[w.tensor] = {beside, whole > 0 ? beside / whole : 1, reached(loops, false),
                     reached(loops, true)};
  }
  return out;
}

struct Since {        // an entry was touched
  double all = 0;     // bytes that were, of all
  double mine = 0;    // by one unit, in programs that ran later
  double missed = 0;  // bytes that came into the caches from beyond all, in programs that ran later
};

// Calls `f` for every entry that lies on some of the bytes: with those bytes, and with what
// happened since.
template <typename F>
void for_each_on(const CacheState& state, const Range& bytes, const F& f) {
  Since since;
  double in_run = 0, missed_in_run = 0;
  for (size_t i = 0; i < state.recent.size(); ++i) {
    const CacheState::Entry& e = state.recent[i];
    if (i > 0 && e.run != state.recent[i - 1].run) {
      since.mine += std::exchange(in_run, 0);
      since.missed += std::exchange(missed_in_run, 0);
    }
    const Range both = overlap(e.range, bytes);
    if (size_of(both) > 0) f(e, both, since);
    since.all += size_of(e.range);
    in_run += e.mine;
    missed_in_run += e.missed;
  }
}

// What is left of an entry when other bytes are known better.
void cut(std::vector<CacheState::Entry>& entries, const Range& bytes) {
  std::vector<CacheState::Entry> out;
  for (const CacheState::Entry& e : entries) {
    for (const Range& rest : {overlap(e.range, {e.range.begin, bytes.begin}),
                              overlap(e.range, {bytes.end, e.range.end})}) {
      if (size_of(rest) <= 0) continue;
      out.push_back(e);
      out.back().range = rest;
      out.back().mine *= size_of(rest) / size_of(e.range);
      out.back().missed *= size_of(rest) / size_of(e.range);
    }
  }
  entries = std::move(out);
}

// The largest cache of a unit's own.
const model::Level* own_cache(const model::Machine& m) {
  const model::Level* out = nullptr;
  for (const model::Level& l : m.levels)
    if (!l.shared && !l.on_chip_explicit) out = &l;
  return out;
}

const model::Level* last_cache(const model::Machine& m) {
  return m.levels.size() < 2 ? nullptr : &m.levels[m.levels.size() - 2];
}

// Caches keep what was used again before what comes in for the first time. Assumed where nobody has
// measured how much: of data that each run reads again this power of the part that is left of data
// that was used once.
constexpr double kUsedAgain = 0.5;
// Where somebody has, what each run only reads is as used once, and of what programs make this part
// as used again and again. Assumed: BERT-base's values of 0.4 MB stay as if all of it,
// MobileNetV2's of 4.8 MB go as if none (B of docs/RESULTS.md).
constexpr double kMadeAgain = 0.5;

// The part that a cache of a unit's own, or the last one, still holds when a program comes to it
// that touches others on its own walk, and brings in as much of it anew as the last one did.
// Whoever walked it before touched others beside it, too, and brought in what it missed: behind
// what it had done with first the more, and the longer ago.
double stays(const model::Machine& m, const model::Level& cache, const CacheState& state,
             const CacheState::Entry& e, const Since& since, const Walk& walk) {
  const bool last = &cache == last_cache(m);
  double sum = 0;
  for (size_t i = 0; i < walk.first.size(); ++i) {
    const double left = 1 - e.last[i];  // of the walk before
    const double mine = since.mine + e.mine + left * e.beside + walk.first[i] * walk.beside;
    if (!last) {
      sum += hit_fraction(cache, mine, cache.end);
      continue;
    }
    const double touched = cache.shared ? (since.all + size_of(e.range)) / cache.instances : mine;
    const double missed =
        (since.missed + left * e.part * e.came + walk.first[i] * e.missed) / cache.instances;
    const double seconds = state.now - e.ended + left * e.part * (e.ended - e.began);
    const double foreign = seconds * cache.co_tenant_eviction.value;
    if (cache.single_use_retention.to > 0 && e.run != state.runs)
      sum += cache.reuse_retention.to > 0
                 ? std::lerp(hit_fraction(cache.single_use_retention, missed + foreign),
                             hit_fraction(cache.reuse_retention, missed + foreign), e.again)
                 : std::pow(hit_fraction(cache.single_use_retention, missed + foreign),
                            e.made ? 1 : kUsedAgain);
    else
      sum += retained_behind(cache, missed, touched, foreign, cache.end);
  }
  return sum / static_cast<double>(walk.first.size());
}

constexpr int64_t kCodeBytes =
    4096;  // of a kernel; assumed. What is lost depends on what ran since, hardly on this

Range code_of(int program) {
  return {-(int64_t{program} + 1) * kCodeBytes, -int64_t{program} * kCodeBytes};
}

}  // namespace

model::Residency residency_of(const ir::Program& p, const model::Streams& streams,
                              const model::Machine& m, const CacheState& before,
                              std::span<const Range> where) {
  model::Residency out(p.graph.tensors.size(), std::vector<double>(m.levels.size(), 0));
  if (before.recent.empty()) return out;
  const lower::Nest& nest = streams.nest;
  const std::vector<Walk> walks = walks_of(p, streams, m);
  const double units = units_of(p, m);
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (!known_place(where, t)) continue;
    const Dealt mine = dealt(p, static_cast<int>(t), nest, where[t], units);
    for_each_on(before, where[t],
                [&](const CacheState::Entry& e, const Range& both, const Since& since) {
                  const double part = size_of(both) / size_of(where[t]),
                               own = mine_again(both, mine, e.touched);
                  for (size_t l = 0; l < m.levels.size(); ++l) {
                    const model::Level& level = m.levels[l];
                    const bool shared = level.shared || level.instances <= 1;
                    const double stay =
                        shared && &level != last_cache(m)
                            ? hit_fraction(level, (since.all + size_of(e.range)) / level.instances,
                                           level.end)
                            : stays(m, level, before, e, since, walks[t]);
                    out[t][l] += part * (shared ? 1 : own) * stay;
                  }
                });
  }
  return out;
}

RemoteLines remote_lines(const ir::Program& p, const model::Streams& streams,
                         const model::Machine& m, const CacheState& before,
                         std::span<const Range> where) {
  RemoteLines out;
  const model::Level* cache = own_cache(m);
  if (cache == nullptr || m.units <= 1 || before.recent.empty()) return out;
  const lower::Nest& nest = streams.nest;
  const std::vector<Walk> walks = walks_of(p, streams, m);
  const double units = units_of(p, m);
  const std::vector<double> needed =
      part_sizes(p, m, [&](const model::Footprint& f) { return f.bytes(m.levels[0].line); });
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (!known_place(where, t)) continue;
    const Dealt mine = dealt(p, static_cast<int>(t), nest, where[t], units);
    const bool writes = is_written(p, static_cast<int>(t));
    for_each_on(before, where[t],
                [&](const CacheState::Entry& e, const Range& both, const Since& since) {
                  const double bytes = needed[t] * size_of(both) / size_of(where[t]) *
                                       stays(m, *cache, before, e, since, walks[t]);
                  if (e.written)
                    (writes ? out.dirty_remote_rfo : out.dirty_remote_read) +=
                        bytes * (1 - mine_again(both, mine, e.touched));
                  else if (writes)
                    out.upgrade += bytes * (1 - mine_alone(both, mine, e.touched, e.wrote));
                });
  }
  return out;
}

CodeLost code_lost(const CacheState& before, int program, const model::Machine& m) {
  const model::Level *own = own_cache(m), *last = last_cache(m);
  CodeLost out{1, 1};
  for_each_on(before, code_of(program),
              [&](const CacheState::Entry& e, const Range& both, const Since& since) {
                const double part = size_of(both) / kCodeBytes;
                if (own != nullptr) out.own -= part * stays(m, *own, before, e, since, {});
                if (last != nullptr && last != own)
                  out.all -= part * stays(m, *last, before, e, since, {});
              });
  out.all = std::min(out.all, out.own);
  return out;
}

void remember_code(CacheState& state, int program, bool several, const model::Machine& m) {
  const Range code = code_of(program);
  const Dealt to_all{code.begin, 0, std::max(1, static_cast<int>(m.units))};
  cut(state.recent, code);
  state.recent.insert(state.recent.begin(), {code,
                                             static_cast<double>(kCodeBytes),
                                             to_all,
                                             to_all,
                                             false,
                                             several,
                                             0,
                                             several ? 1.0 : 0.0,
                                             state.now,
                                             state.now,
                                             0,
                                             1,
                                             {},
                                             0,
                                             ++state.runs});
}

void pass_time(CacheState& state, double seconds) {
  state.now += seconds;
  for (CacheState::Entry& e : state.recent)
    if (e.run == state.runs) e.ended = state.now;
}

CacheState after(const ir::Program& p, const model::Machine& m, CacheState before,
                 std::span<const Range> where) {
  double limit = 0;
  for (const model::Level& l : m.levels)
    if (!l.last) limit = std::max(limit, std::max(2 * l.capacity.value, l.end) * l.instances);
  const lower::Nest nest = lower::nest_of(p);
  const double units = units_of(p, m);
  const std::vector<double> own = room_taken(p, m);
  const std::vector<Walk> walks = walks_of(p, model::streams_of(p), m);
  const model::Level* last = last_cache(m);
  // A program that nothing ran before runs again and again: it misses what it does not keep of
  // itself.
  const bool alone = before.recent.empty();
  double all = 0;  // in an instance of the last cache
  for (int t : ir::arguments_of(p))
    if (const auto i = static_cast<size_t>(t); known_place(where, i) && last != nullptr)
      all += last->shared ? size_of(where[i]) / last->instances : own[i];
  const int run = ++before.runs;
  const double kept_of_all = last == nullptr ? 0 : hit_fraction(*last, all, last->end);
  for (int t : ir::arguments_of(p)) {
    const auto i = static_cast<size_t>(t);
    if (!known_place(where, i)) continue;
    CacheState::Entry now;
    now.range = where[i];
    now.written = now.made = is_written(p, t);
    now.began = now.ended = before.now;
    now.beside = walks[i].beside;
    now.part = walks[i].part;
    now.last = walks[i].last;
    now.run = run;
    now.touched = now.wrote = dealt(p, t, nest, where[i], units);
    // Lookups touch a part of their table.
    const double whole = size_of(where[i]),
                 reached = std::min(whole, now.touched.to_all() ? own[i] : own[i] * units);
    now.mine = own[i];
    double most = 0, found = 0;
    for_each_on(
        before, where[i], [&](const CacheState::Entry& e, const Range& both, const Since& since) {
          if (last != nullptr)
            found += size_of(both) * (last->shared ? 1 : mine_again(both, now.touched, e.touched)) *
                     stays(m, *last, before, e, since, walks[i]);
          if (!now.written && size_of(both) > most) now.wrote = e.wrote, most = size_of(both);
          now.made = now.made || e.made;
        });
    now.again = now.made ? kMadeAgain : 0;
    now.missed = reached * (alone ? 1 - kept_of_all : std::max(0.0, 1 - found / whole));
    cut(before.recent, where[i]);
    before.recent.insert(before.recent.begin(), now);
  }
  double came = 0;
  for (const CacheState::Entry& e : before.recent) came += e.run == run ? e.missed : 0;
  for (CacheState::Entry& e : before.recent)
    if (e.run == run) e.came = came;
  double sum = 0;
  size_t keep = 0;
  while (keep < before.recent.size() && sum <= limit) sum += size_of(before.recent[keep++].range);
  before.recent.resize(keep);
  return before;
}

}  // namespace assay::simulator
