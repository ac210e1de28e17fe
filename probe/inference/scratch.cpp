#include "probe/inference/scratch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "probe/inference/infer.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kConflicts = 1.5;  // ratio at twice the stride, where bank conflicts double
constexpr double kSame = 1.15, kSlower = 0.8;
constexpr double kFromNext = 0.5;  // of the latency of the level behind the one that served
constexpr double kNearly = 0.8;    // of a level's latency: that level serves, and no nearer one
constexpr double kDoubt = 0.05;    // of the sweep's time: the resolution
constexpr double kQuick = 0.25;    // quantile
constexpr size_t kRounds = 4;      // at least, to show how much differences scatter

}  // namespace

void add_banks(const Observations& all, MemoryLevel& to) {
  std::vector<double> strides, times;
  for (const double stride : values_of(select(all, "scratch", "stride"), "stride")) {
    if (!std::has_single_bit(static_cast<uint64_t>(stride))) continue;
    const auto s =
        summarize(select(all, "scratch", "stride", {{"stride", stride}}), Estimator::throughput);
    if (s) strides.push_back(stride), times.push_back(s->value);
  }
  if (strides.size() < 3) return;
  for (size_t i = 1; i < times.size(); ++i)
    if (times[i] < kSame * times[i - 1] / (kSame * kSame)) {
      to.banks.count = unknown_value<Count>(fmt::format(
          "lanes at a stride of {:.0f} words are faster than closer ones: others disturbed it, "
          "or sets of banks are chosen by a hash",
          strides[i]));
      return;
    }
  size_t longest = strides.size() - 1;
  while (longest > 0 && times[longest] < kSame * times[longest - 1]) --longest;
  if (longest == 0) {
    to.banks.count = unknown_value<Count>(
        "no distance of the lanes is slower than another: conflicts do not show");
    return;
  }
  if (longest + 1 == strides.size()) {
    to.banks.count = unknown_value<Count>(fmt::format(
        "lanes at a stride of {:.0f} words are still slower than closer ones: there are more banks",
        strides.back()));
    return;
  }
  if (times[1] < kConflicts * times[0]) {
    to.banks.count =
        unknown_value<Count>(fmt::format("{:.0f} banks of 4 B, or fewer wider ones: lanes two "
                                         "words of stride are no slower than neighbours",
                                         strides[longest]));
    return;
  }
  to.banks.count =
      known_value(Count{strides[longest]}, Origin::measured,
                  "the smallest distance of the lanes, in words, that takes longest",
                  fmt::format("there loads take {:.1f} times as long as of neighbouring words",
                              times[longest] / times[0]));
  to.banks.width = known_value(Bytes{4}, Origin::measured,
                               "lanes at a stride of two words are slower than neighbours");
}

namespace {

// Latency of the level behind the one that serves so fast; 0: there is none.
double beyond(const Levels& levels, double seconds) {
  const size_t next = answering_level(levels, seconds) + 1;
  return next < levels.plateaus.size() ? levels.plateaus[next].seconds : 0;
}

}  // namespace

size_t answering_level(const Levels& levels, double seconds) {
  size_t at = 0;
  while (at + 1 < levels.plateaus.size() && seconds >= kNearly * levels.plateaus[at + 1].seconds)
    ++at;
  return at;
}

std::optional<double> slowed_by_sweep(const Observations& all, const Levels& levels) {
  const std::vector<double> sweeps = values_of(select(all, "scratch", "after"), "bytes"),
                            hops = values_of(select(all, "scratch", "after"), "hops");
  if (sweeps.size() != 2 || hops.size() != 2) return std::nullopt;
  const auto blocks = [&](double sweep, double n) {
    return select(all, "scratch", "after", {{"bytes", sweep}, {"hops", n}});
  };
  const auto own = blocks(sweeps[0], hops[1]), none = blocks(sweeps[0], hops[0]),
             both = blocks(sweeps[1], hops[1]), swept = blocks(sweeps[1], hops[0]);
  // Differences within a round, since the machine may be slower for some rounds.
  std::vector<double> before_each, after_each;
  for (size_t i = 0; i < std::min({own.size(), none.size(), both.size(), swept.size()}); ++i) {
    before_each.push_back(quantile(own[i].samples, kQuick) - quantile(none[i].samples, kQuick));
    after_each.push_back(quantile(both[i].samples, kQuick) - quantile(swept[i].samples, kQuick));
  }
  const auto sweep = summarize(swept, Estimator::latency),
             with = summarize(both, Estimator::latency);
  if (before_each.empty() || !sweep || !with) return std::nullopt;
  const double before = quantile(before_each, 0.5), after = quantile(after_each, 0.5);
  if (before <= 0 || after <= 0 || after < kSlower * before)
    return std::nullopt;  // the difference was lost in noise
  // The hops are a small part of the time, so they are slower only where the difference exceeds
  // noise.
  const double low =
      after_each.size() < kRounds ? with->low - sweep->high : quantile(after_each, kQuick);
  const double surely = std::min(low, after - kDoubt * sweep->value) / before;
  // And evicted data comes from the next cache at best.
  const double per_hop = before / (hops[1] - hops[0]), next = beyond(levels, per_hop);
  const bool from_afar = after / (hops[1] - hops[0]) > kFromNext * next;
  return after >= kEvicted * before && (surely < kEvicted || !from_afar)
             ? std::nullopt
             : std::optional(after / before);
}

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
                            : "on the chip, or in a cache that is not distinguished");
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
  if (read && !known.threads && read->clock_hz > 0)  // one wave's rate would be no limit
    l.bandwidth.read = bandwidth_value(inverse(*read, 1 / read->clock_hz), kCore,
                                       "reading 16 KiB of one group's own");
  return l;
}

}  // namespace assay::probe
