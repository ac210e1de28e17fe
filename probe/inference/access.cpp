#include "probe/inference/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/inference/stats.h"
#include "probe/inference/values.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kStillFalling = 0.93;  // of the time with fewer chains: more would be faster yet
constexpr double kFull = 0.8;           // of a stream's bandwidth: bandwidth is the limit

struct Fastest : Summary {
  double chains = 1, groups = 1;
  bool at_end = false;  // the most chains tried were the fastest
};

// With so many groups, over all numbers of chains tried.
std::optional<Fastest> fastest(const Observations& all, double level, double groups) {
  const Conditions at = {{"level", level}, {"groups", groups}};
  std::optional<Fastest> best;
  double before = 0;
  for (const double chains : values_of(select(all, "outstanding", "chases", at), "chains")) {
    Conditions here = at;
    here["chains"] = chains;
    const auto s = summarize(select(all, "outstanding", "chases", here), Estimator::latency);
    if (!s) continue;
    if (!best || s->value < best->value) best = Fastest{*s, chains, groups, false};
    best->at_end = best->chains == chains && (before == 0 || s->value < kStillFalling * before);
    before = s->value;
  }
  return best;
}

// Units that run so many groups.
double units_of(const Known& known, double groups) { return groups > 1 ? known.units : 1; }

// Bytes per second of one unit, or, of `all` units, of the level; 0: not known.
double reached(const MemoryLevel& level, bool all, double clock) {
  const auto of = [&](const Value<Bandwidth>& v) {
    return v.known() ? v.value->v * (v.value->clock.empty() ? 1 : clock) : 0;
  };
  return !all && level.bandwidth.per_unit.known() ? of(level.bandwidth.per_unit)
                                                  : of(level.bandwidth.read);
}

}  // namespace

void add_outstanding(const Observations& all, const Known& known, size_t level, MemoryLevel& to) {
  const auto i = double(level);
  const auto one =
      summarize(select(all, "outstanding", "chases", {{"level", i}, {"groups", 1}, {"chains", 1}}),
                Estimator::latency);
  if (!one) return;
  std::optional<Fastest> best;
  double most = 0;
  for (const double groups :
       values_of(select(all, "outstanding", "chases", {{"level", i}}), "groups")) {
    auto f = fastest(all, i, groups);
    if (!f) continue;
    const double lines = one->value / f->value / units_of(known, groups);
    f->at_end = f->at_end || (most > 0 && lines > most / kStillFalling);
    if (lines > most)
      best = f, most = lines;
    else
      best->at_end = false;
  }
  if (!best) return;
  const double units = units_of(known, best->groups), side = best->chains * best->groups;
  Measured m{most, one->low / best->high / units, one->high / best->low / units, one->n + best->n,
             ""};
  const double limit = reached(to, units > 1, one->clock_hz);
  if (best->at_end)
    m.note = fmt::format(
        "{:.0f} chases side by side, the most that were tried, still gain: there may be more",
        side);
  else if (limit > 0 && known.line / best->value > kFull * limit)
    m.note = "as many as its bandwidth lets pass: there may be more";
  if (!m.note.empty()) m.high = std::max({m.high, double(kChases.back()), side / units});
  to.outstanding.per = "unit";
  to.outstanding.lines =
      count_value(m, fmt::format("one chase against {:.0f} side by side, time per hop", side));
}

namespace {

// Without those in which units took as long as for their own bytes, `own` seconds each: the host
// had them on one core. Where few are left, all.
std::vector<Observation> on_two_cores(const std::vector<Observation>& blocks, double own) {
  constexpr double kOneCore = 0.7;  // of the rate of its own bytes
  constexpr size_t kEnough = 3;
  std::vector<Observation> out;
  for (const Observation& o : blocks)
    if (!o.samples.empty() && quantile(o.samples, 0.5) > own / kOneCore) out.push_back(o);
  return out.size() >= kEnough ? out : blocks;
}

// The median of one-die placement, and the range of eight in ten of all samples. A host places two
// units on neighbouring or on distant cores, so neither fast nor slow samples are disturbed.
std::optional<Summary> usual(const std::vector<Observation>& blocks) {
  const std::vector<double> times = all_samples(blocks);
  if (times.empty()) return std::nullopt;
  Summary s;
  s.n = static_cast<int64_t>(times.size());
  s.value = quantile(all_samples(same_die_blocks(blocks)), 0.5);
  s.low = quantile(times, 0.1);
  s.high = quantile(times, 0.9);
  return s;
}

}  // namespace

void add_dirty_remote_read(const Observations& all, size_t level, MemoryLevel& to) {
  const auto add = [&](const char* what, Value<Bandwidth>& value, const char* does,
                       const char* method) {
    const auto own =
        usual(select(all, "coherence", std::string(what) + " own", {{"level", double(level)}}));
    if (!own) return;
    const std::vector<Observation> any = select(all, "coherence", what, {{"level", double(level)}}),
                                   blocks = on_two_cores(any, own->value);
    const auto other = usual(blocks);
    if (!other) return;
    value = bandwidth_value(inverse(*other, 1), "", method);
    value.note = fmt::format("its own it {} at {:.1f} GB/s then", does, 1e-9 / own->value);
    if (const size_t near = same_die_blocks(blocks).size(); near < blocks.size())
      value.note += fmt::format("; units were on one die in {} of {} blocks, and those count", near,
                                blocks.size());
    if (blocks.size() < any.size())
      value.note += fmt::format("; in {} others units shared a core", any.size() - blocks.size());
  };
  add("dirty_remote_read", to.bandwidth.dirty_remote_read, "reads",
      "every unit reads once what the next one has just written, half of what a cache holds");
  add("dirty_remote_rfo", to.bandwidth.dirty_remote_rfo, "writes",
      "every unit writes once what the next one has just written, half of what a cache holds");
  add("upgrade", to.bandwidth.upgrade, "writes",
      "every unit writes what the next one has read since it wrote it, half of what a cache holds");
}

void add_false_sharing(const Observations& all, size_t level, MemoryLevel& to) {
  const auto between = summarize(
      select(all, "false_sharing", "between", {{"level", double(level)}}), Estimator::latency);
  const auto own = summarize(select(all, "false_sharing", "own", {{"level", double(level)}}),
                             Estimator::latency);
  if (!between || !own) return;
  if (between->low <= own->high) {
    to.false_sharing =
        unknown_value<Latency>("runs that end in front of another unit's take no longer");
    return;
  }
  to.false_sharing = latency_value({between->value - own->value, between->low - own->high,
                                    between->high - own->low, between->n + own->n, ""},
                                   "",
                                   fmt::format("two units writing runs of {} B alternately, all at "
                                               "once, less the same in memory of their own",
                                               kEndBytes));
}

}  // namespace assay::probe
