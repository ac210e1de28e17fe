// Memory levels near to far: capacities, latencies, bandwidths, sharing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/inference/access.h"
#include "probe/inference/associativity.h"
#include "probe/inference/capacity.h"
#include "probe/inference/cyclic_scan.h"
#include "probe/inference/footprint.h"
#include "probe/inference/host_memory.h"
#include "probe/inference/infer.h"
#include "probe/inference/instances.h"
#include "probe/inference/loaded_latency.h"
#include "probe/inference/memory_level.h"
#include "probe/inference/merge_levels.h"
#include "probe/inference/retention.h"
#include "probe/inference/scratch.h"
#include "probe/inference/transfer.h"
#include "probe/inference/values.h"
#include "probe/inference/write_policy.h"
#include "probe/kernels/pages.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kOwnLines = 1.04;  // a kernel's own lines use some of a cache
constexpr const char* kChase = "random single-cycle chase in the middle of the level";

// Blocks in the middle half of the plateau, by the logarithm of their footprint.
std::vector<Observation> middle_of(const LevelContext& c) {
  const double middle = std::sqrt(c.plateau().first * c.plateau().last);
  const double reach = std::max(0.3, std::log2(c.plateau().last / c.plateau().first) / 4);
  std::vector<Observation> out;
  for (Observation& o : chase_blocks(c.all))
    if (std::abs(std::log2(o.value_at("bytes") / middle)) <= reach) out.push_back(std::move(o));
  return out;
}

// Ticks of translation in a hop of a sparse cycle (sampling/cycle.h): it visits blocks of pages
// whole, each page several times.
double translation_in(const Profile& p, double footprint, double line) {
  const double pages = footprint / kPage,
               block = std::min(pages, double(kMostLocalBytes / 2 / kPage)),
               visits = kPage / (4 * line);
  double ticks = 0;
  for (const TlbLevel& t : p.tlb) {
    if (!t.entries.known() || !t.miss.known()) continue;
    const double entries = t.entries.value->v;
    ticks += t.miss.value->v * (block > entries   ? 1 - entries / block
                                : pages > entries ? 1 / visits
                                                  : 0);
  }
  return ticks;
}

constexpr double kOtherwise = 1.5;

// The latency curve is another chase (its cycles are denser), at another time. Where it shows a
// shared cache so much faster, co-tenants may have used the cache in between. The interval then
// extends to what the curve shows.
void hold_against(const LevelContext& c, const std::vector<Observation>& of_curve, Measured& m) {
  if (!c.shared || c.far || c.known.threads || !c.all.fact("simulated").empty()) return;
  const auto curve = summarize(of_curve, Estimator::latency);
  if (!curve || curve->clock_hz <= 0) return;
  const Measured shown = scaled(*curve, curve->clock_hz);
  if (m.value < kOtherwise * shown.value) return;
  m.low = std::min(m.low, shown.low);
  m.note = fmt::format("the latency curve shows {:.1f} ticks: others may have used it meanwhile",
                       shown.value);
}

Value<Latency> latency_of(const LevelContext& c, const Profile& p) {
  std::vector<Observation> blocks = select(c.all, "latency", "chase", {{"level", double(c.index)}});
  const std::vector<Observation> of_curve = middle_of(c);
  if (blocks.empty()) blocks = of_curve;
  const auto s = c.shared || c.far ? summarize(blocks, Estimator::latency)
                                   : summarize_at_clock(c.known, blocks, Estimator::latency);
  if (!s) return unknown_value<Latency>("no footprint well inside the level was measured");
  const double ticks = c.index > 0 && s->clock_hz > 0
                           ? translation_in(p, blocks.front().value_at("bytes"), c.known.line)
                           : 0;
  if (ticks > 0) {
    const bool far = c.far;
    Measured m = scaled(*s, far ? 1 : s->clock_hz);
    const double less = far ? ticks / s->clock_hz : ticks;
    m.value -= less;
    m.low -= less;
    if (!far) hold_against(c, of_curve, m);
    return latency_value(m, far ? "" : kCore,
                         fmt::format("{}, less {:.1f} ticks of translation", kChase, ticks));
  }
  Measured m = scaled(*s, c.far || s->clock_hz <= 0 ? 1 : s->clock_hz);
  if (s->clock_hz > 0) hold_against(c, of_curve, m);
  return latency_value(m, c.far || s->clock_hz <= 0 ? "" : kCore, kChase);
}

bool mostly_busy(const std::vector<Observation>& blocks) {
  const auto busy = std::count_if(blocks.begin(), blocks.end(),
                                  [](const Observation& o) { return o.foreign > kDisturbed; });
  return 2 * static_cast<size_t>(busy) > blocks.size();
}

// What no look contradicts: the declared size where the measured interval holds it. Where they
// differ, the measurement replaces it if all looks are alike; else the interval holds both, since a
// neighbour may have been there all the time. A neighbour smears the knee, whole ways do not. A
// cache is no smaller than what hit.
constexpr double kSharpKnee = 0.8;  // where misses begin, over where hits end

void settle_declared(Value<Bytes>& v, double nominal, bool alike) {
  if (nominal <= 0) return;
  const double low = v.low->v, high = v.high->v;
  if (nominal >= low && nominal <= high * kOwnLines) {
    v.method = "declared by the system, and inside the measured knee of the latency curve";
    v.note = fmt::format("half of a footprint hits at {:.0f} B; {}", v.value->v, v.note);
    v.value = Bytes{nominal};
    v.high = Bytes{std::max(nominal, high)};
    v.source = Origin::driver;
  } else if (nominal < low || (alike && low >= kSharpKnee * high)) {
    v.note += fmt::format("; the measurement replaces it: {}",
                          nominal < low ? "more was held" : "all looks are alike");
  } else {
    v.high = Bytes{nominal};
    v.note += "; the interval holds both: others may have taken a part of it";
  }
}

// The nominal size: what the system declares where the measured knee holds it, else where the curve
// crosses the middle.
Value<Bytes> capacity_of(const LevelContext& c) {
  if (c.far) {
    const std::string total = c.all.fact("memory_bytes");
    if (total.empty()) return unknown_value<Bytes>("not measured");
    return known_value(Bytes{std::stod(total)}, Origin::driver, "total memory the system reports");
  }
  const KneePoint& k = c.known.levels.knees[c.index];
  // Of a footprint slightly larger than a cache most still hits, so it is hardly slower.
  const auto& levels = c.known.levels.plateaus;
  const double least =
      k.from /
      (1 + kNear / std::max(kNear, levels[c.index + 1].seconds / levels[c.index].seconds - 1));
  Measured m{k.capacity, std::min(least, k.capacity), std::max(k.to, k.capacity), 0, ""};
  const auto held = held_by(looks_of(c.all), levels[c.index], levels[c.index + 1]);
  if (held && c.known.threads)  // a device's timestamps deviate both ways
    m = {m.value, std::min(m.low, held->least), std::max(m.high, held->most), 0, ""};
  else if (held)
    m = {held->half, held->least, kOwnLines * held->most, 0, ""};
  const std::string declared = declared_cache(c.all, c.index);
  m.note = c.known.sharing[c.index].why;
  if (mostly_busy(chase_blocks(c.all)))
    m.note += "; others used the machine: shared caches look smaller";
  if (!declared.empty()) m.note += "; the system declares " + declared;
  if (const size_t shown = c.known.levels.shown;
      declared_caches(c.all) > 0 && c.index + 2 == levels.size() && shown != levels.size())
    m.note += fmt::format("; by itself the latency curve shows {} levels where {} are declared",
                          shown, levels.size());
  m.n = static_cast<int64_t>(chase_blocks(c.all).size());
  auto v = bytes_value(m, held ? "latency curve of the best looks: where half of a footprint hits"
                               : "knee of the latency curve: where it crosses the geometric middle "
                                 "of two levels");
  settle_declared(v, declared_bytes(c.all, c.index), held && held->alike && !c.shared);
  return v;
}

// Streams of all units tell the size of a shared cache. The interval also holds what the chase
// found, with what is declared where that is more.
void settle(MemoryLevel& l, double nominal) {
  const Value<Bytes> chased = l.capacity;
  settle_shared_capacity(l, nominal);
  if (l.capacity == chased || !l.capacity.low || !chased.low) return;
  l.capacity.low = Bytes{std::min(l.capacity.low->v, chased.low->v)};
  l.capacity.high = Bytes{std::max(l.capacity.high->v, chased.high->v)};
}

void add_knee(const LevelContext& c, MemoryLevel& to) {
  if (c.far) return;
  const KneePoint& k = c.known.levels.knees[c.index];
  to.knee.from = known_value(Bytes{std::round(k.from)}, Origin::measured,
                             "largest footprint within 12 % of the level");
  to.knee.to = known_value(Bytes{std::round(k.to)}, Origin::measured,
                           "smallest footprint within 12 % of the next level");
}

// The fewest lines under way per unit with which all of them read as fast as was measured (Little's
// law): whole lines, whatever part of one a miss brings, and the intervals' low ends. Nothing where
// the two are in different clocks.
std::optional<double> lines_under_way_of_streams(const LevelContext& c, const MemoryLevel& l) {
  if (!l.bandwidth.read.known() || !l.bandwidth.read.value->clock.empty() || !l.latency.known() ||
      !l.line.known())
    return std::nullopt;
  const double latency = l.latency.low.value_or(*l.latency.value).v /
                         (l.latency.value->clock.empty() ? 1 : c.known.clock_hz);
  return l.bandwidth.read.low.value_or(*l.bandwidth.read.value).v * latency / l.line.value->v /
         c.known.units;
}

// In flight = bandwidth x latency (Little): what one unit keeps outstanding when it streams. Where
// concurrent chases were measured, they decide.
void add_outstanding(const LevelContext& c, MemoryLevel& to) {
  add_outstanding(c.all, c.known, c.index, to);
  if (c.known.threads && to.outstanding.lines.known()) {
    if (const auto needed = lines_under_way_of_streams(c, to);
        needed && to.outstanding.lines.high.value_or(*to.outstanding.lines.value).v < *needed)
      to.outstanding.lines = unknown_value<Count>(fmt::format(
          "one group has {:.0f} under way; to read as fast as they do units need {:.0f}",
          to.outstanding.lines.value->v, *needed));
  }
  if (!c.far || to.outstanding.lines.known() || !to.bandwidth.per_unit.known() ||
      !to.latency.known())
    return;
  const double lines = to.bandwidth.per_unit.value->v * to.latency.value->v / c.known.line;
  to.outstanding.per = "unit";
  to.outstanding.lines =
      known_value(Count{std::round(lines)}, Origin::derived,
                  "bandwidth of one unit x latency / line", "prefetched lines included");
}

Value<Bytes> line_of(const LevelContext& c) {
  if (select(c.all, "line", "pair").empty()) return unknown_value<Bytes>("not measured");
  const Bytes line{c.known.line};
  if (const LineSize told = line_by_pairs(c.all); told.declared) {
    auto v = known_value(line, Origin::driver, "the system's word",
                         "no distance distinguishes a second touch clearly from the first");
    // Another distance than the declared one shows some step, or none does.
    v.low = Bytes{std::min(told.shown > 0 ? told.shown : told.bytes / 2, told.bytes)};
    v.high = Bytes{std::max(told.shown > 0 ? told.shown : told.bytes * 2, told.bytes)};
    return v;
  }
  return known_value(line, Origin::measured,
                     "second touch at a distance costs nothing within a line");
}

MemoryLevel level_of(LevelContext c, const Profile& p) {
  MemoryLevel l;
  const size_t n = c.known.levels.plateaus.size();
  l.name = level_name(c.index, n);
  c.far = c.index + 1 == n;
  c.shared = c.far || c.known.sharing[c.index].shared;
  l.per = c.shared ? "device" : "unit";
  l.managed = c.far ? Managed::explicit_ : Managed::automatic;
  l.capacity = capacity_of(c);
  add_knee(c, l);
  l.latency = latency_of(c, p);
  add_bandwidth(c, l);
  if (!c.shared) {
    add_dirty_remote_read(c.all, c.index, l);
    add_false_sharing(c.all, c.index, l);
  }
  add_loaded(c.all, c.known, c.index, l);
  l.line = line_of(c);
  if (!c.far && !select(c.all, "ways", "lines").empty()) l.ways = ways_of(c.all, c.known, c.index);
  if (!c.far && c.index > 0 && !c.shared && !select(c.all, "ways", "pages").empty())
    l.page_stride_lines = page_lines_of(c.all, c.known, c.index);
  if (!c.far && c.index == 0) add_set_conflict(c.all, c.known, l);
  if (const auto line = line_or_nearer(c.all, c.known, c.index);
      c.known.threads && (line.known() || !line.note.empty()))
    l.line = line;  // sectored caches: pairs show the sector
  add_outstanding(c, l);
  l.transaction = transaction_of(c.all, c.known, c.index);
  if (!c.far) l.write = write_policy_of(c.all, c.index);
  if (!c.far && c.index + 2 == n && l.write == WritePolicy::unknown) l.write = allocating_policy(c);
  return l;
}

}  // namespace

void infer_memory(const Observations& all, const Known& known, Profile& to) {
  for (size_t i = 0; i < known.levels.plateaus.size(); ++i)
    to.memory.push_back(level_of({all, known, i}, to));
  const auto hertz =
      !to.clocks.empty() && to.clocks[0].max.known() ? to.clocks[0].max.value->v : 0.0;
  const auto units = !to.topology.empty() && to.topology.back().count.known()
                         ? to.topology.back().count.value->v
                         : 1.0;
  const Sweep sweep = sweep_of(all);
  join_levels(to.memory, hertz, units, sweep, declared_caches(all), latency_curve(all));
  raise_write_bandwidth(to.memory, hertz, units);
  add_cyclic_scan(to.memory, sweeps_of(all));
  const auto last = std::find_if(to.memory.rbegin(), to.memory.rend(), [](const MemoryLevel& l) {
    return l.managed == Managed::automatic;
  });
  if (last != to.memory.rend()) add_single_use(all, units, *last);
  for (size_t i = 0; i < to.memory.size(); ++i)
    if (!known.threads) settle(to.memory[i], declared_bytes(all, i));
  divide_among_instances(all, known, to);
  if (auto own = group_memory(all, known)) to.memory.insert(to.memory.begin(), std::move(*own));
  if (auto host = host_memory(all)) to.memory.push_back(std::move(*host));
}

}  // namespace assay::probe
