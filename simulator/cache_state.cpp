// What the caches hold between programs: storage in LRU order.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "lower/nest.h"
#include "model/constants.h"
#include "model/retention.h"
#include "model/streams.h"
#include "simulator/cache_lookup.h"
#include "simulator/estimate_group.h"
#include "simulator/operand_walk.h"

namespace assay::simulator {

namespace {

bool is_written(const ir::Program& p, int tensor) {
  return std::any_of(p.graph.nodes.begin(), p.graph.nodes.end(),
                     [&](const ir::Node& n) { return n.output == tensor; });
}

bool is_looked_up(const ir::Program& p, int tensor) {
  const auto looks = [&](const ir::Read& r) { return r.tensor == tensor && r.lookup; };
  return std::any_of(p.graph.nodes.begin(), p.graph.nodes.end(), [&](const ir::Node& n) {
    return std::any_of(n.reads.begin(), n.reads.end(), looks);
  });
}

bool known_place(std::span<const Range> where, size_t tensor) {
  return tensor < where.size() && size_of(where[tensor]) > 0;
}

struct Since {            // an entry was touched
  double all = 0;         // bytes touched, of all units
  double unit_bytes = 0;  // by one unit, in later programs
  double missed = 0;      // bytes that no cache held, in later programs
};

// Calls `f` for every entry that covers some of the bytes: with those bytes, and with what happened
// since, as the units of `mine` see it.
template <typename F>
void for_each_on(const CacheState& state, const Range& bytes, const UnitPartition& mine,
                 const F& f) {
  Since since;
  double in_run = 0, missed_in_run = 0;
  for (size_t i = 0; i < state.recent.size(); ++i) {
    const CacheState::Entry& e = state.recent[i];
    if (i > 0 && e.run != state.recent[i - 1].run) {
      since.unit_bytes += std::exchange(in_run, 0);
      since.missed += std::exchange(missed_in_run, 0);
    }
    if (e.range.begin < bytes.end && bytes.begin < e.range.end)
      if (const Range both = overlap(e.range, bytes); size_of(both) > 0) f(e, both, since);
    since.all += size_of(e.range);
    if (meet(e.touched, mine)) in_run += e.unit_bytes;
    missed_in_run += e.missed;
  }
}

CacheState::Entry part_of(CacheState::Entry e, const Range& rest) {
  e.unit_bytes *= size_of(rest) / size_of(e.range);
  e.missed *= size_of(rest) / size_of(e.range);
  e.range = rest;
  return e;
}

// Removes some bytes from the entries from `first` on, since a later entry replaces them. What is
// left of an entry stays in its place; entries without bytes go.
void cut(std::vector<CacheState::Entry>& entries, const Range& bytes, size_t first = 0) {
  std::vector<CacheState::Entry> seconds;  // parts behind the bytes, of entries with two
  std::vector<size_t> places;
  size_t keep = first;
  for (size_t i = first; i < entries.size(); ++i) {
    const Range range = entries[i].range;
    const bool apart = range.end <= bytes.begin || bytes.end <= range.begin;
    if (apart && range.begin < range.end) {
      if (keep != i) entries[keep] = entries[i];
      ++keep;
      continue;
    }
    const Range before = overlap(range, {range.begin, bytes.begin}),
                behind = overlap(range, {bytes.end, range.end});
    if (size_of(before) <= 0 && size_of(behind) <= 0) continue;
    const CacheState::Entry whole = entries[i];
    if (size_of(before) > 0 && size_of(behind) > 0) {
      seconds.push_back(part_of(whole, behind));
      places.push_back(keep + 1 + places.size());
    }
    entries[keep++] = part_of(whole, size_of(before) > 0 ? before : behind);
  }
  entries.resize(keep);
  for (size_t i = 0; i < places.size(); ++i)
    entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(places[i]), seconds[i]);
}

// Puts an entry first, in place of others' bytes. Most replace one entry, and no other moves then
// but those before it.
void put_first(std::vector<CacheState::Entry>& entries, const CacheState::Entry& e) {
  const auto same = std::ranges::find(entries, e.range, &CacheState::Entry::range);
  if (size_of(e.range) <= 0 || same == entries.end()) {
    if (size_of(e.range) > 0) cut(entries, e.range);
    entries.insert(entries.begin(), e);
    return;
  }
  std::move_backward(entries.begin(), same, same + 1);
  entries.front() = e;
  cut(entries, e.range, 1);
}

// The largest private cache.
const model::Level* own_cache(const model::Machine& m) {
  const model::Level* out = nullptr;
  for (const model::Level& l : m.levels)
    if (!l.shared && !l.is_scratchpad) out = &l;
  return out;
}

const model::Level* last_cache(const model::Machine& m) {
  return m.levels.size() < 2 ? nullptr : &m.levels[m.levels.size() - 2];
}

// The part that a private cache, or the last one, still holds when a program reaches it. The
// program touches other operands on its own walk, and brings in as much of them as the last run
// did. Whoever walked it before also touched others between, and brought in what it missed: the
// more and the longer ago, the earlier it was done with a place. Caches retain reused lines before
// new ones (RRIP): data that runs only read counts as used once, of what programs produce a part as
// reused.
double held_fraction(const model::Machine& m, const model::Level& cache, const CacheState& state,
                     const CacheState::Entry& e, const Since& since, const Walk& walk) {
  const bool last = &cache == last_cache(m);
  double sum = 0;
  for (size_t i = 0; i < walk.first.size(); ++i) {
    const double left = 1 - e.last[i];  // of the walk before
    const double mine = since.unit_bytes + e.unit_bytes + left * e.others_between +
                        walk.first[i] * walk.others_between;
    if (!last) {
      sum += hit_fraction(cache, mine, cache.end);
      continue;
    }
    const double touched = cache.shared ? (since.all + size_of(e.range)) / cache.instances : mine;
    const double missed =
        (since.missed + left * e.walk_fraction * e.missed_by_run + walk.first[i] * e.missed) /
        cache.instances;
    const double seconds = state.now - e.ended + left * e.walk_fraction * (e.ended - e.began);
    const double foreign = seconds * cache.co_tenant_eviction.value;
    if (cache.single_use_retention.to > 0 && e.run != state.runs)
      sum +=
          cache.reuse_retention.to > 0
              ? std::lerp(hit_fraction(cache.single_use_retention, missed + foreign),
                          hit_fraction(cache.reuse_retention, missed + foreign), e.reuse_fraction)
              : hit_fraction(cache.single_use_retention, missed + foreign);
    else
      sum += retained_after(cache, missed, touched, foreign, cache.end);
  }
  return sum / static_cast<double>(walk.first.size());
}

// Of a kernel. Misses depend on what ran since, hardly on this.
constexpr int64_t kCodeBytes = 10'000;

UnitPartition all_units(const model::Machine& m) {
  return {0, 0, std::max(1, static_cast<int>(m.units)), m.first_unit};
}

Range code_of(int program) {
  return {-(int64_t{program} + 1) * kCodeBytes, -int64_t{program} * kCodeBytes};
}

}  // namespace

namespace {

struct Looked {  // what looking up a program's operands needs of them
  const lower::Nest& nest;
  double units;
  std::span<const Walk> walks;
  std::span<const double> needed = {};
};

model::CachedFractions found(const ir::Program& p, const Looked& operands, const model::Machine& m,
                             const CacheState& before, std::span<const Range> where) {
  model::CachedFractions out(p.graph.tensors.size(), std::vector<double>(m.levels.size(), 0));
  const lower::Nest& nest = operands.nest;
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (!known_place(where, t)) continue;
    const UnitPartition mine =
        partition_of(p, static_cast<int>(t), nest, where[t], operands.units, m.first_unit);
    for_each_on(before, where[t], mine,
                [&](const CacheState::Entry& e, const Range& both, const Since& since) {
                  const double part = size_of(both) / size_of(where[t]),
                               own = same_unit_fraction(both, mine, e.touched);
                  for (size_t l = 0; l < m.levels.size(); ++l) {
                    const model::Level& level = m.levels[l];
                    const bool shared = level.shared || level.instances <= 1;
                    const double stay =
                        shared && &level != last_cache(m)
                            ? hit_fraction(level, (since.all + size_of(e.range)) / level.instances,
                                           level.end)
                            : held_fraction(m, level, before, e, since, operands.walks[t]);
                    out[t][l] += part * (shared ? 1 : own) * stay;
                  }
                });
  }
  return out;
}

RemoteLines remote(const ir::Program& p, const Looked& operands, const model::Machine& m,
                   const CacheState& before, std::span<const Range> where) {
  RemoteLines out;
  const model::Level* cache = own_cache(m);
  // One unit alone may stand for several (a group's), which entries know.
  if (cache == nullptr || before.recent.empty()) return out;
  const lower::Nest& nest = operands.nest;
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (!known_place(where, t)) continue;
    const UnitPartition mine =
        partition_of(p, static_cast<int>(t), nest, where[t], operands.units, m.first_unit);
    const bool writes = is_written(p, static_cast<int>(t));
    for_each_on(before, where[t], mine,
                [&](const CacheState::Entry& e, const Range& both, const Since& since) {
                  const double bytes =
                      operands.needed[t] * size_of(both) / size_of(where[t]) *
                      held_fraction(m, *cache, before, e, since, operands.walks[t]);
                  if (e.written)
                    (writes ? out.dirty_remote_rfo : out.dirty_remote_read) +=
                        bytes * (1 - same_unit_fraction(both, mine, e.touched));
                  else if (writes)
                    out.upgrade += bytes * (1 - exclusive_fraction(both, mine, e.touched, e.wrote));
                });
  }
  return out;
}

}  // namespace

model::CachedFractions cached_fractions(const ir::Program& p, const model::Streams& streams,
                                        const model::Machine& m, const CacheState& before,
                                        std::span<const Range> where) {
  if (before.recent.empty())
    return model::CachedFractions(p.graph.tensors.size(), std::vector<double>(m.levels.size(), 0));
  const std::vector<Walk> walks = walks_of(p, streams, m);
  return found(p, {streams.nest, units_of(p, m), walks}, m, before, where);
}

model::CachedFractions cached_fractions(const ir::Program& p, const Operands& o,
                                        const model::Machine& m, const CacheState& before,
                                        std::span<const Range> where) {
  return found(p, {o.streams.nest, o.units, o.walks}, m, before, where);
}

RemoteLines remote_lines(const ir::Program& p, const model::Streams& streams,
                         const model::Machine& m, const CacheState& before,
                         std::span<const Range> where) {
  if (own_cache(m) == nullptr || before.recent.empty()) return {};
  const std::vector<Walk> walks = walks_of(p, streams, m);
  const std::vector<double> needed = bytes_of_unit(p, m);
  return remote(p, {streams.nest, units_of(p, m), walks, needed}, m, before, where);
}

RemoteLines remote_lines(const ir::Program& p, const Operands& o, const model::Machine& m,
                         const CacheState& before, std::span<const Range> where) {
  return remote(p, {o.streams.nest, o.units, o.walks, o.needed}, m, before, where);
}

CodeMisses code_misses(const CacheState& before, int program, const model::Machine& m) {
  const model::Level *own = own_cache(m), *last = last_cache(m);
  CodeMisses out{1, 1};
  for_each_on(before, code_of(program), all_units(m),
              [&](const CacheState::Entry& e, const Range& both, const Since& since) {
                const double part =
                    size_of(both) / kCodeBytes * same_unit_fraction(both, all_units(m), e.touched);
                if (own != nullptr) out.own -= part * held_fraction(m, *own, before, e, since, {});
                if (last != nullptr && last != own)
                  out.all -= part * held_fraction(m, *last, before, e, since, {});
              });
  out.all = std::min(out.all, out.own);
  return out;
}

void touch_code(CacheState& state, int program, bool several, const model::Machine& m) {
  const Range code = code_of(program);
  const UnitPartition is_shared_by_all = all_units(m);
  put_first(state.recent, {code,
                           static_cast<double>(kCodeBytes),
                           is_shared_by_all,
                           is_shared_by_all,
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

void forget(CacheState& state, const Range& bytes) { cut(state.recent, bytes); }

void pass_time(CacheState& state, double seconds) {
  state.now += seconds;
  for (CacheState::Entry& e : state.recent)
    if (e.run == state.runs) e.ended = state.now;
}

CacheState after(const ir::Program& p, const model::Machine& m, CacheState before,
                 std::span<const Range> where) {
  if (!p.producers.empty()) return after_group(p, m, std::move(before), where);
  return after(p, Operands(p, m), m, std::move(before), where);
}

CacheState after(const ir::Program& p, const Operands& operands, const model::Machine& m,
                 CacheState before, std::span<const Range> where) {
  double limit = 0;
  for (const model::Level& l : m.levels)
    if (!l.last) limit = std::max(limit, std::max(2 * l.capacity.value, l.end) * l.instances);
  const lower::Nest& nest = operands.streams.nest;
  const double units = operands.units;
  const std::vector<double>& own = operands.room;
  const std::vector<Walk>& walks = operands.walks;
  const model::Level* last = last_cache(m);
  // A program that nothing ran before runs again and again: it misses what it has evicted itself.
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
    now.written = now.produced = is_written(p, t);
    now.began = now.ended = before.now;
    now.others_between = walks[i].others_between;
    now.walk_fraction = walks[i].walk_fraction;
    now.last = walks[i].last;
    now.run = run;
    now.touched = now.wrote = partition_of(p, t, nest, where[i], units, m.first_unit);
    // Lookups touch a part of their table.
    const double whole = size_of(where[i]),
                 reached =
                     std::min(whole, now.touched.is_shared_by_all() ? own[i] : own[i] * units);
    now.unit_bytes = own[i];
    double most = 0, found = 0;
    for_each_on(before, where[i], now.touched,
                [&](const CacheState::Entry& e, const Range& both, const Since& since) {
                  if (last != nullptr)
                    found += size_of(both) *
                             (last->shared ? 1 : same_unit_fraction(both, now.touched, e.touched)) *
                             held_fraction(m, *last, before, e, since, walks[i]);
                  if (!now.written && size_of(both) > most)
                    now.wrote = e.wrote, most = size_of(both);
                  now.produced = now.produced || e.produced;
                });
    now.reuse_fraction = now.produced ? model::kReusedPart : 0;
    now.missed = reached * (alone ? 1 - kept_of_all : std::max(0.0, 1 - found / whole));
    // Who reads few of a tensor's lines does not bring in all of it, nor make it recent. A lookup
    // may look there again.
    if (!now.written && !is_looked_up(p, t) && 2 * reached < whole) now.range.end = now.range.begin;
    put_first(before.recent, now);
  }
  double came = 0;
  for (const CacheState::Entry& e : before.recent) came += e.run == run ? e.missed : 0;
  for (CacheState::Entry& e : before.recent)
    if (e.run == run) e.missed_by_run = came;
  double sum = 0;
  size_t keep = 0;
  while (keep < before.recent.size() && sum <= limit) sum += size_of(before.recent[keep++].range);
  before.recent.resize(keep);
  return before;
}

}  // namespace assay::simulator
