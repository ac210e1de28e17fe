// Memory levels near to far: capacities, latencies, bandwidths, sharing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "probe/inference/access.h"
#include "probe/inference/associativity.h"
#include "probe/inference/cyclic_scan.h"
#include "probe/inference/footprint.h"
#include "probe/inference/host_memory.h"
#include "probe/inference/infer.h"
#include "probe/inference/instances.h"
#include "probe/inference/loaded_latency.h"
#include "probe/inference/merge_levels.h"
#include "probe/inference/power_mean.h"
#include "probe/inference/retention.h"
#include "probe/inference/scratch.h"
#include "probe/inference/transfer.h"
#include "probe/inference/values.h"
#include "probe/inference/write_policy.h"
#include "probe/kernels/pages.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kOwnLines =
    1.04;  // a kernel's own lines lie in a cache too, which looks the smaller
constexpr double kAllocates =
    1.25;                        // streamed stores over plain ones: plain ones read the line first
constexpr double kAsMany = 0.9;  // of the most groups
constexpr const char* kChase = "random single-cycle chase in the middle of the level";

struct Context {
  const Observations& all;
  const Known& known;
  size_t index = 0;  // of the level
  bool far = false;  // the last one
  bool shared = false;
  const Plateau& plateau() const { return known.levels.plateaus[index]; }
  double units(const std::string& experiment, const std::string& what, bool most) const {
    const auto counts =
        values_of(select(all, experiment, what, {{"level", double(index)}}), "units");
    return counts.empty() ? 0 : most ? counts.back() : counts.front();
  }
};

// Blocks in the middle half of the plateau, by the logarithm of their footprint.
std::vector<Observation> middle_of(const Context& c) {
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

// The chase of the latency curve is another one (its cycles are denser), and ran at another time.
// Where it shows a cache that units share so much faster, others may have used it in between: the
// interval reaches to what the curve shows.
void hold_against(const Context& c, const std::vector<Observation>& of_curve, Measured& m) {
  if (!c.shared || c.far || c.known.threads || !c.all.fact("simulated").empty()) return;
  const auto curve = summarize(of_curve, Estimator::latency);
  if (!curve || curve->clock_hz <= 0) return;
  const Measured shown = scaled(*curve, curve->clock_hz);
  if (m.value < kOtherwise * shown.value) return;
  m.low = std::min(m.low, shown.low);
  m.note = fmt::format("the latency curve shows {:.1f} ticks: others may have used it meanwhile",
                       shown.value);
}

Value<Latency> latency_of(const Context& c, const Profile& p) {
  std::vector<Observation> blocks = select(c.all, "latency", "chase", {{"level", double(c.index)}});
  const std::vector<Observation> of_curve = middle_of(c);
  if (blocks.empty()) blocks = of_curve;
  const auto s = c.shared || c.far ? summarize(blocks, Estimator::latency)
                                   : by_the_clock(c.known, blocks, Estimator::latency);
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

// The nominal size: what the system declares where the measured knee holds it, else where the curve
// crosses the middle.
Value<Bytes> capacity_of(const Context& c) {
  if (c.far) {
    const std::string total = c.all.fact("memory_bytes");
    if (total.empty()) return unknown_value<Bytes>("not measured");
    return known_value(Bytes{std::stod(total)}, Origin::driver, "total memory the system reports");
  }
  const KneePoint& k = c.known.levels.knees[c.index];
  // A cache holds all but a part of a footprint somewhat larger, which is hardly slower.
  const auto& levels = c.known.levels.plateaus;
  const double least =
      k.from /
      (1 + kNear / std::max(kNear, levels[c.index + 1].seconds / levels[c.index].seconds - 1));
  Measured m{k.capacity, std::min(least, k.capacity), std::max(k.to, k.capacity), 0, ""};
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
  auto v = bytes_value(
      m, "knee of the latency curve: where it crosses the geometric middle of two levels");
  const double nominal = declared_bytes(c.all, c.index);
  if (nominal < m.low || nominal > m.high * kOwnLines) return v;
  v.method = "declared by the system, and inside the measured knee of the latency curve";
  v.note =
      fmt::format("the curve crosses the middle of two levels at {:.0f} B; {}", m.value, v.note);
  v.value = Bytes{nominal};
  v.high = Bytes{std::max(nominal, v.high->v)};
  v.source = Origin::driver;
  return v;
}

void add_knee(const Context& c, MemoryLevel& to) {
  if (c.far) return;
  const KneePoint& k = c.known.levels.knees[c.index];
  to.knee.from = known_value(Bytes{std::round(k.from)}, Origin::measured,
                             "largest footprint within 12 % of the level");
  to.knee.to = known_value(Bytes{std::round(k.to)}, Origin::measured,
                           "smallest footprint within 12 % of the next level");
}

struct StreamTime : Summary {
  double bytes = 0;        // of each unit
  double least_bytes = 0;  // of several footprints; else the same
};

// Of a cache that cores share, looked at with several footprints: the geometric middle, since pages
// lie better in it for one than for another, as they will for programs. `seen`: ascending, not
// empty.
StreamTime of_all_footprints(const std::vector<StreamTime>& seen) {
  StreamTime out = seen.front();
  double logarithms = 0;
  out.n = 0;
  out.bytes = seen.back().bytes;
  for (const StreamTime& s : seen) {
    logarithms += std::log(s.value);
    out.low = std::min(out.low, s.low);
    out.high = std::max(out.high, s.high);
    out.n += s.n;
  }
  out.value = std::exp(logarithms / static_cast<double>(seen.size()));
  return out;
}

// Seconds per byte of the level over all instances in use, at the footprint that shows it fastest,
// or of all of them; nullopt: not measured.
std::optional<StreamTime> stream_time(const Context& c, const std::string& what, double units) {
  const char* experiment = c.far ? "far" : "bandwidth";
  const Conditions at = {{"level", double(c.index)}, {"units", units}};
  std::vector<StreamTime> seen;
  for (const double bytes : values_of(select(c.all, experiment, what, at), "bytes")) {
    Conditions here = at;
    here["bytes"] = bytes;
    const std::vector<Observation> blocks = select(c.all, experiment, what, here);
    const auto s = c.shared || c.far ? summarize(blocks, Estimator::throughput)
                                     : by_the_clock(c.known, blocks, Estimator::throughput);
    if (s) seen.push_back(StreamTime{*s, bytes, bytes});
  }
  if (seen.empty()) return std::nullopt;
  if (c.shared && !c.far && !c.known.threads) return of_all_footprints(seen);
  return *std::ranges::min_element(seen, {}, &StreamTime::value);
}

// A cache that units share takes what is written before far memory has it: samples of groups that
// write little more than it holds tell no rate.
bool tells_a_rate(const Context& c, const std::string& what, const Observation& o) {
  if (what == "read" || c.known.levels.knees.empty() || !c.all.fact("simulated").empty())
    return true;
  return static_cast<double>(far_bytes_of_a_sample(o)) >=
         kOutweighs * c.known.levels.knees.back().capacity;
}

std::vector<Observation> far_blocks_of_groups(const Context& c, const std::string& what,
                                              double most) {
  std::vector<Observation> blocks = select(c.all, "far", what, {{"level", double(c.index)}});
  std::erase_if(blocks, [&](const Observation& o) { return o.value_at("units") < kAsMany * most; });
  return blocks;
}

// Of groups that wait for far memory: a few more or less of them, of turns that knew less of the
// caches, reach as much.
std::optional<StreamTime> far_time_of_groups(const Context& c, const std::string& what,
                                             double most) {
  std::vector<Observation> blocks = far_blocks_of_groups(c, what, most);
  std::erase_if(blocks, [&](const Observation& o) { return !tells_a_rate(c, what, o); });
  const auto s = summarize(blocks, Estimator::throughput);
  return s ? std::optional(
                 StreamTime{*s, blocks.front().value_at("bytes"), blocks.front().value_at("bytes")})
           : std::nullopt;
}

// Why there is no rate, though there are samples; "": there are none.
std::string taken_by_the_cache(const Context& c, const std::string& what, double most) {
  if (!c.far || !c.known.threads) return "";
  const std::vector<Observation> blocks = far_blocks_of_groups(c, what, most);
  if (blocks.empty() || std::any_of(blocks.begin(), blocks.end(),
                                    [&](const Observation& o) { return tells_a_rate(c, what, o); }))
    return "";
  return fmt::format(
      "a sample writes {:.0f} MiB at most, of which the cache before takes up to {:.0f}",
      static_cast<double>(far_bytes_of_a_sample(blocks.front())) / (1 << 20),
      c.known.levels.knees.back().capacity / (1 << 20));
}

// The same with the number of units, or of groups where lanes are threads. Of a cache there may be
// several numbers of those: some leave a part of a unit with more of them than another.
std::pair<double, std::optional<StreamTime>> best_stream(const Context& c, const std::string& what,
                                                         bool all_units) {
  const double most = c.units(c.far ? "far" : "bandwidth", what, all_units);
  if (c.known.threads && c.far && most > 0) return {most, far_time_of_groups(c, what, most)};
  std::pair<double, std::optional<StreamTime>> best{
      most, most > 0 ? stream_time(c, what, most) : std::nullopt};
  if (!c.known.threads) return best;
  for (const double n :
       values_of(select(c.all, "bandwidth", what, {{"level", double(c.index)}}), "units"))
    if (const auto s = stream_time(c, what, n);
        s && (!best.second || s->value < best.second->value))
      best = {n, s};
  return best;
}

// The core's clock over that of these samples, where they differ: what does not go by it may or may
// not have slowed down.
double slowed(const Context& c, const Summary& s) {
  return s.clock_hz > 0 && s.clock_hz < kOneClock * c.known.clock_hz ? c.known.clock_hz / s.clock_hz
                                                                     : 1;
}

Value<Bandwidth> bandwidth_of(const Context& c, const std::string& what, bool all_units,
                              const std::string& method) {
  const auto [units, s] = best_stream(c, what, all_units);
  if (!s) {
    const std::string taken = taken_by_the_cache(c, what, units);
    return unknown_value<Bandwidth>(taken.empty() ? "no footprint shows this level alone" : taken);
  }
  const double under =
      clock_under(c.all, what.ends_with("write") ? "write" : "read", c.known.lanes, s->clock_hz);
  const double clock = under > 0 ? under : s->clock_hz;
  const bool ticks = !c.shared && clock > 0;
  const std::string least =
      s->least_bytes < s->bytes ? fmt::format("{:.0f} to ", s->least_bytes / 1024) : "";
  const std::string text =
      fmt::format("{}, {:.0f} {}{}, {}{:.0f} KiB each", method, units,
                  c.known.threads ? "group" : "unit", units > 1 ? "s" : "", least, s->bytes / 1024);
  const double per = c.shared ? 1 : c.known.units;
  Measured m = inverse(*s, (ticks ? 1 / clock : 1) / per);
  const double whole = ticks ? 1 : slowed(c, *s);
  if (whole > 1)
    m.note = fmt::format("at {:.2f} of the core's clock: at all of it perhaps {:.2f} times as much",
                         1 / whole, whole);
  auto v = bandwidth_value(m, ticks ? kCore : "", text);
  v.high->v *= whole;
  if (!c.known.threads && !c.far && !c.shared && !c.known.sharing[c.index].told) {
    v.low->v /= std::max(
        1.0,
        std::atof(
            c.all.fact("units").c_str()));  // if it is shared after all, that is what each is left
    v.note += fmt::format("{}of one unit: whether they share it is not known",
                          v.note.empty() ? "" : "; ");
  }
  return v;
}

void add_scaling(const Context& c, MemoryLevel& to) {
  const char* experiment = c.far ? "far" : "bandwidth";
  std::vector<UnitsPoint> points;
  for (const double n :
       values_of(select(c.all, experiment, "read", {{"level", double(c.index)}}), "units"))
    if (const auto s = stream_time(c, "read", n)) points.push_back({n, 1 / s->value});
  const auto fit = fit_power_mean(points);
  if (!fit) return;
  to.bandwidth.per_unit = bandwidth_of(c, "read", false, "reading");
  if (!fit->identified) {
    to.bandwidth.sharpness =
        unknown_value<Ratio>(fmt::format("{} units do not bend the curve enough to tell its limit "
                                         "from its sharpness; `read` is what all of them reach",
                                         points.back().units));
    return;
  }
  Value<Bandwidth>& read =
      to.bandwidth.read;  // the limit lies above what was reached: so does its interval
  const double beyond = fit->total / read.value->v;
  for (std::optional<Bandwidth>* v : {&read.value, &read.low, &read.high})
    if (*v) (*v)->v = rounded_to((*v)->v * beyond, 4);
  read.source = Origin::fitted;
  to.bandwidth.sharpness = known_value(Ratio{rounded_to(fit->sharpness, 3)}, Origin::fitted,
                                       "power mean over active units",
                                       fmt::format("rms error {:.1f} %", 100 * fit->error));
}

void add_bandwidth(const Context& c, MemoryLevel& to) {
  to.bandwidth.read = bandwidth_of(c, "read", c.shared, "reading");
  to.bandwidth.write = bandwidth_of(c, "write", c.shared, "writing");
  to.bandwidth.copy = bandwidth_of(c, "copy", c.shared, "copying, bytes read plus written");
  if (!select(c.all, "bandwidth", "short_run_read", {{"level", double(c.index)}}).empty()) {
    to.bandwidth.short_run_read = bandwidth_of(c, "short_run_read", c.shared,
                                               "reading runs of 256 B, each in a row of its own");
    to.bandwidth.short_run_write =
        bandwidth_of(c, "short_run_write", c.shared, "writing such runs");
  }
  if (c.far)
    to.bandwidth.triad = bandwidth_of(
        c, "triad", true, "reading two streams and writing a third, bytes of all three");
  if (c.shared && !c.known.threads) add_scaling(c, to);
}

// The fewest lines under way per unit with which all of them read as fast as was measured (Little's
// law): whole lines, whatever part of one a miss brings, and the intervals' low ends. Nothing where
// the two are in different clocks.
std::optional<double> lines_under_way_of_streams(const Context& c, const MemoryLevel& l) {
  if (!l.bandwidth.read.known() || !l.bandwidth.read.value->clock.empty() || !l.latency.known() ||
      !l.line.known())
    return std::nullopt;
  const double latency = l.latency.low.value_or(*l.latency.value).v /
                         (l.latency.value->clock.empty() ? 1 : c.known.clock_hz);
  return l.bandwidth.read.low.value_or(*l.bandwidth.read.value).v * latency / l.line.value->v /
         c.known.units;
}

// In flight = bandwidth x latency (Little): what one unit keeps outstanding when it streams. Where
// chases side by side were measured, they say.
void add_outstanding(const Context& c, MemoryLevel& to) {
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

// A plain store that misses reads its line first, a streamed one does not: far memory shows it.
WritePolicy policy_of(const Context& last_cache) {
  Context far = last_cache;
  far.index += 1;
  far.far = true;
  const double units = far.units("far", "write_stream", true);
  const auto plain = stream_time(far, "write", units),
             streamed = stream_time(far, "write_stream", units);
  if (!plain || !streamed) return WritePolicy::unknown;
  return plain->value / streamed->value >= kAllocates ? WritePolicy::allocate
                                                      : WritePolicy::unknown;
}

Value<Bytes> line_of(const Context& c) {
  if (select(c.all, "line", "pair").empty()) return unknown_value<Bytes>("not measured");
  const Bytes line{c.known.line};
  if (line_told_by_pairs(c.all).declared)
    return known_value(line, Origin::driver, "the system's word",
                       "no distance sets a second touch apart clearly from the first");
  return known_value(line, Origin::measured,
                     "second touch at a distance costs nothing within a line");
}

MemoryLevel level_of(Context c, const Profile& p) {
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
  if (!c.far && c.index == 0) add_set_turns(c.all, c.known, l);
  if (const auto line = line_told(c.all, c.known, c.index); c.known.threads && line.known())
    l.line = line;  // caches of sectors: pairs show those
  add_outstanding(c, l);
  l.transaction = transaction_of(c.all, c.known, c.index);
  if (!c.far) l.write = write_policy_of(c.all, c.index);
  if (!c.far && c.index + 2 == n && l.write == WritePolicy::unknown) l.write = policy_of(c);
  return l;
}

// The memory of a group's own that a driver offers. Where it says that this is no memory on the
// chip, it lies in the farthest one.
std::optional<MemoryLevel> group_memory(const Observations& all, const Known& known) {
  if (all.fact("group_memory").empty()) return std::nullopt;
  MemoryLevel l;
  l.name = "local";
  l.per = "unit";
  l.managed = Managed::explicit_;
  const auto slowed = slowed_by_sweep(all, known.levels);
  const bool said = all.fact("group_memory_type") == "global";
  if (slowed ? *slowed >= kEvicted : said) l.backed_by = level_name(0, 1);
  const std::string unit = all.fact("unit_memory");
  l.capacity = unit.empty() ? known_value(Bytes{std::stod(all.fact("group_memory"))},
                                          Origin::driver, "what one group may have")
                            : known_value(Bytes{std::stod(unit)}, Origin::driver,
                                          "what a unit has for its groups");
  if (slowed) {
    l.capacity.note = fmt::format(
        "a chase through it takes {:.2f} times as long after other memory was read: it lies {}",
        *slowed,
        *slowed >= kEvicted ? "behind the caches"
                            : "on the chip, or in a cache that is not told apart");
    if (said && *slowed < kEvicted)
      l.capacity.note += "; the driver says that it lies in far memory";
  }
  if (l.backed_by.empty()) add_banks(all, l);
  const auto chase = summarize(select(all, "group_memory", "chase"), Estimator::latency);
  if (chase)
    l.latency =
        latency_value(scaled(*chase, chase->clock_hz > 0 ? chase->clock_hz : 1),
                      chase->clock_hz > 0 ? kCore : "", "chase through 16 KiB of one group's own");
  const auto read = summarize(select(all, "group_memory", "read"), Estimator::throughput);
  if (read && !known.threads && read->clock_hz > 0)  // of one wave it would be no limit
    l.bandwidth.read = bandwidth_value(inverse(*read, 1 / read->clock_hz), kCore,
                                       "reading 16 KiB of one group's own");
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
  join_levels(to.memory, hertz, units, sweep, declared_caches(all),
              curve_of(chase_blocks(all), Estimator::latency));
  settle_retention(to.memory, hertz, units);
  add_cyclic_scan(to.memory, sweeps_of(all));
  const auto last = std::find_if(to.memory.rbegin(), to.memory.rend(), [](const MemoryLevel& l) {
    return l.managed == Managed::automatic;
  });
  if (last != to.memory.rend()) add_single_use(all, units, *last);
  for (size_t i = 0; i < to.memory.size(); ++i)
    if (!known.threads) settle_shared(to.memory[i], declared_bytes(all, i));
  divide_shared(all, known, to);
  if (auto own = group_memory(all, known)) to.memory.insert(to.memory.begin(), std::move(*own));
  if (auto host = host_memory(all)) to.memory.push_back(std::move(*host));
}

}  // namespace assay::probe
