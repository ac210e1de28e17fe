#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "probe/inference/footprint.h"
#include "probe/inference/memory_level.h"
#include "probe/inference/power_mean.h"
#include "probe/inference/values.h"
#include "support/number.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kAllocates =
    1.25;                        // non-temporal stores over plain ones, which read the line first
constexpr double kAsMany = 0.9;  // of the most groups

struct StreamTime : Summary {
  double bytes = 0;        // of each unit
  double least_bytes = 0;  // of several footprints; else the same
};

// Of a shared cache, measured with several footprints: the geometric middle, since pages map to its
// sets better for some than for others, as they will for programs. `seen`: ascending, not empty.
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
std::optional<StreamTime> stream_time(const LevelContext& c, const std::string& what,
                                      double units) {
  const char* experiment = c.far ? "far" : "bandwidth";
  const Conditions at = {{"level", double(c.index)}, {"units", units}};
  std::vector<StreamTime> seen;
  for (const double bytes : values_of(select(c.all, experiment, what, at), "bytes")) {
    Conditions here = at;
    here["bytes"] = bytes;
    const std::vector<Observation> blocks = select(c.all, experiment, what, here);
    const auto s = c.shared || c.far ? summarize(blocks, Estimator::throughput)
                                     : summarize_at_clock(c.known, blocks, Estimator::throughput);
    if (s) seen.push_back(StreamTime{*s, bytes, bytes});
  }
  if (seen.empty()) return std::nullopt;
  if (c.shared && !c.far && !c.known.threads) return of_all_footprints(seen);
  return *std::ranges::min_element(seen, {}, &StreamTime::value);
}

// A shared cache absorbs writes before far memory has them. Samples that write little more than it
// holds show no rate of far memory.
bool tells_a_rate(const LevelContext& c, const std::string& what, const Observation& o) {
  if (what == "read" || c.known.levels.knees.empty() || !c.all.fact("simulated").empty())
    return true;
  return static_cast<double>(far_bytes_of_a_sample(o)) >=
         kWriteDominates * c.known.levels.knees.back().capacity;
}

std::vector<Observation> far_blocks_of_groups(const LevelContext& c, const std::string& what,
                                              double most) {
  std::vector<Observation> blocks = select(c.all, "far", what, {{"level", double(c.index)}});
  std::erase_if(blocks, [&](const Observation& o) { return o.value_at("units") < kAsMany * most; });
  return blocks;
}

// Blocks of nearly the most groups: a few more or fewer, as earlier rounds used, reach as much.
std::optional<StreamTime> far_time_of_groups(const LevelContext& c, const std::string& what,
                                             double most) {
  std::vector<Observation> blocks = far_blocks_of_groups(c, what, most);
  std::erase_if(blocks, [&](const Observation& o) { return !tells_a_rate(c, what, o); });
  const auto s = summarize(blocks, Estimator::throughput);
  return s ? std::optional(
                 StreamTime{*s, blocks.front().value_at("bytes"), blocks.front().value_at("bytes")})
           : std::nullopt;
}

// Why there is no rate, though there are samples; "": there are none.
std::string taken_by_the_cache(const LevelContext& c, const std::string& what, double most) {
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

// The same with the number of units, or of groups where lanes are threads. A cache may have been
// measured with several numbers of groups, since some load a unit's parts unevenly.
std::pair<double, std::optional<StreamTime>> best_stream(const LevelContext& c,
                                                         const std::string& what, bool all_units) {
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

// The core's clock over that of these samples, where they differ. Units outside its clock domain
// may or may not have slowed down.
double slowed(const LevelContext& c, const Summary& s) {
  return s.clock_hz > 0 && s.clock_hz < kOneClock * c.known.clock_hz ? c.known.clock_hz / s.clock_hz
                                                                     : 1;
}

Value<Bandwidth> bandwidth_of(const LevelContext& c, const std::string& what, bool all_units,
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
  if (!c.known.threads && !c.far && !c.shared && !c.known.sharing[c.index].certain) {
    v.low->v /= std::max(
        1.0,
        std::atof(
            c.all.fact("units").c_str()));  // if it is shared after all, this is each unit's share
    v.note += fmt::format("{}of one unit: whether they share it is not known",
                          v.note.empty() ? "" : "; ");
  }
  return v;
}

void add_scaling(const LevelContext& c, MemoryLevel& to) {
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
      to.bandwidth.read;  // the limit lies above what was reached, and so does its interval
  const double beyond = fit->total / read.value->v;
  for (std::optional<Bandwidth>* v : {&read.value, &read.low, &read.high})
    if (*v) (*v)->v = rounded_to((*v)->v * beyond, 4);
  read.source = Origin::fitted;
  to.bandwidth.sharpness = known_value(Ratio{rounded_to(fit->sharpness, 3)}, Origin::fitted,
                                       "power mean over active units",
                                       fmt::format("rms error {:.1f} %", 100 * fit->error));
}

}  // namespace

void add_bandwidth(const LevelContext& c, MemoryLevel& to) {
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

WritePolicy allocating_policy(const LevelContext& last_cache) {
  LevelContext far = last_cache;
  far.index += 1;
  far.far = true;
  const double units = far.units("far", "write_stream", true);
  const auto plain = stream_time(far, "write", units),
             streamed = stream_time(far, "write_stream", units);
  if (!plain || !streamed) return WritePolicy::unknown;
  return plain->value / streamed->value >= kAllocates ? WritePolicy::allocate
                                                      : WritePolicy::unknown;
}

}  // namespace assay::probe
