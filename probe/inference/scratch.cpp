#include "probe/inference/scratch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kConflicts =
    1.5;  // twice the distance takes so many times as long, where banks are met twice as often
constexpr double kSame = 1.15, kSlower = 0.8;
constexpr double kFromNext = 0.5;  // of the latency of the level beyond the one that answered
constexpr double kNearly = 0.8;    // of a level's latency: it is that level, and no nearer one
constexpr double kDoubt = 0.05;    // of the time of the sweep: nothing is known to less
constexpr double kQuick = 0.25;    // quantile
constexpr size_t kRounds = 4;      // that show how far differences scatter

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
      to.banks.count = unknown_value<Count>(
          fmt::format("lanes {:.0f} words apart are faster than closer ones: others disturbed it, "
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
        "lanes {:.0f} words apart are still slower than closer ones: there are more banks",
        strides.back()));
    return;
  }
  if (times[1] < kConflicts * times[0]) {
    to.banks.count =
        unknown_value<Count>(fmt::format("{:.0f} banks of 4 B, or fewer wider ones: lanes two "
                                         "words apart are no slower than neighbours",
                                         strides[longest]));
    return;
  }
  to.banks.count =
      known_value(Count{strides[longest]}, Origin::measured,
                  "the smallest distance of the lanes, in words, that takes longest",
                  fmt::format("there loads take {:.1f} times as long as of neighbouring words",
                              times[longest] / times[0]));
  to.banks.width =
      known_value(Bytes{4}, Origin::measured, "lanes two words apart are slower than neighbours");
}

namespace {

// Latency of what lies beyond the level that answers so fast; 0: nothing does.
double beyond(const Levels& levels, double seconds) {
  const size_t next = answers(levels, seconds) + 1;
  return next < levels.plateaus.size() ? levels.plateaus[next].seconds : 0;
}

}  // namespace

size_t answers(const Levels& levels, double seconds) {
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
  // Differences of what stands side by side: the machine may be slower for some rounds.
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
  // The hops are a small part of what takes long: it is slower where that is more than noise.
  const double low =
      after_each.size() < kRounds ? with->low - sweep->high : quantile(after_each, kQuick);
  const double surely = std::min(low, after - kDoubt * sweep->value) / before;
  // And what was driven out comes from the next cache at best.
  const double per_hop = before / (hops[1] - hops[0]), next = beyond(levels, per_hop);
  const bool from_afar = after / (hops[1] - hops[0]) > kFromNext * next;
  return after >= kEvicted * before && (surely < kEvicted || !from_afar)
             ? std::nullopt
             : std::optional(after / before);
}

}  // namespace assay::probe
