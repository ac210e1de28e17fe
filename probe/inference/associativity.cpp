#include "probe/inference/associativity.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "probe/inference/values.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

// Of the step from the level's latency to the next one's.
constexpr double kHits = 0.12, kMisses = 0.3, kSharp = 0.6;
constexpr double kMostWays = 64;
constexpr int kAgree = 3;  // strides that show the same number
constexpr double kDisturbedStrides =
    4;                                 // co-tenants may have evicted lines at the smallest strides
constexpr double kFlat = 0.06;         // of the level's latency: no miss
constexpr double kNearCapacity = 1.5;  // times: a knee is a range

struct Limit {  // at one stride
  double stride = 0;
  double most = 0;     // lines that all hit
  double few = 0;      // lines of which some surely miss
  bool sharp = false;  // one line more, and most miss
  bool power() const { return std::has_single_bit(static_cast<uint64_t>(stride)); }
};

// nullopt: all numbers of lines hit, or none does.
std::optional<Limit> limit_at(const Observations& all, const Known& known, size_t level,
                              double stride) {
  const double here = known.levels.plateaus[level].seconds,
               next = known.levels.plateaus[level + 1].seconds;
  const std::vector<Observation> blocks = select(all, "ways", "lines", {{"stride", stride}});
  Limit out{stride, 0, 0, false};
  for (const double n : values_of(blocks, "lines")) {
    const auto s = summarize(select(all, "ways", "lines", {{"stride", stride}, {"lines", n}}),
                             Estimator::latency);
    if (!s) continue;
    const double part = (s->value - here) / (next - here);
    if (part < kHits || s->value < here * (1 + kFlat)) {
      out.most = n;
    } else if (part > kMisses) {
      out.few = n;
      out.sharp = n == out.most + 1 && part > kSharp;
      break;
    }
  }
  if (out.most == 0 || out.few == 0) return std::nullopt;
  return out;
}

}  // namespace

Value<Count> ways_of(const Observations& all, const Known& known, size_t level) {
  const KneePoint& knee = known.levels.knees[level];
  std::vector<Limit> limits;  // of strides that should map to one set
  std::map<double, int> votes;
  for (const double stride : values_of(select(all, "ways", "lines"), "stride")) {
    if (stride < knee.capacity / kMostWays || stride > 4 * knee.to) continue;
    const auto limit = limit_at(all, known, level, stride);
    if (!limit || (!limit->power() && stride < 0.6 * knee.capacity)) continue;
    limits.push_back(*limit);
    ++votes[limit->most];
  }
  double ways = 0, high = 0, smallest = std::numeric_limits<double>::infinity();
  int most = 0;
  for (const auto& [n, count] : votes)
    if (count >= most) ways = n, most = count;
  bool odd = false, sharp = true, more = false;
  for (const Limit& l : limits) {
    if (l.most == ways) {
      odd |= !l.power();
      if (l.power()) smallest = std::min(smallest, l.stride);
      high = std::max(high, l.few - 1);
      sharp &= l.sharp;
    }
  }
  int asked = 0;
  for (const Limit& l : limits)
    if (l.stride >= smallest)
      ++asked, more |= l.most > ways;  // a co-tenant causes misses, never hits
  if (most < kAgree || 2 * most < asked)
    return unknown_value<Count>(
        "no number of lines at distances of a power of two falls out of it again and again: pages "
        "lie scattered, or its sets are chosen by a hash");
  const double whole = ways * smallest;
  if (!odd || more || whole < knee.from / kNearCapacity ||
      whole > knee.to * kNearCapacity * kDisturbedStrides)
    return unknown_value<Count>(fmt::format(
        "lines at a stride of a power of two do not share a set: {:.0f} of them fit, {:.0f} "
        "KiB of stride and more",
        ways, smallest / 1024));
  auto v = known_value(Count{ways}, Origin::measured,
                       "lines at distances of a power of two that still hit");
  v.low = Count{ways};
  v.high = Count{std::max(ways, high)};
  v.note = sharp ? ""
                 : "one line more misses sometimes only: the oldest line is not always the one "
                   "that goes, or others disturbed it";
  return v;
}

Value<Count> page_lines_of(const Observations& all, const Known& known, size_t level) {
  constexpr double kFirst = 0.3, kHalf = 0.5, kLast = 0.7;  // of the step to the next level
  const double here = known.levels.plateaus[level].seconds,
               next = known.levels.plateaus[level + 1].seconds;
  std::vector<CurvePoint> curve;  // by lines
  for (const double n : values_of(select(all, "ways", "pages"), "lines"))
    if (const auto s = summarize(select(all, "ways", "pages", {{"lines", n}}), Estimator::latency))
      curve.push_back({n, s->value});
  for (size_t i = curve.size(); i-- > 1;)
    curve[i - 1].seconds =
        std::min(curve[i - 1].seconds,
                 curve[i].seconds);  // latency never falls with more lines; co-tenants only add
  const auto crossed = [&](double part) -> std::optional<double> {
    const double at = here + part * (next - here);
    for (size_t i = 1; i < curve.size(); ++i)
      if (curve[i].seconds >= at && curve[i - 1].seconds < at) {
        const double way =
            std::log(at / curve[i - 1].seconds) / std::log(curve[i].seconds / curve[i - 1].seconds);
        return std::exp(std::lerp(std::log(curve[i - 1].bytes), std::log(curve[i].bytes), way));
      }
    return std::nullopt;
  };
  const auto half = crossed(kHalf);
  if (!half)
    return unknown_value<Count>(
        "lines at a stride of a page never take as long as half of the way to the next level");
  auto v = known_value(Count{std::round(*half)}, Origin::measured,
                       "chases through so many lines at a stride of 4 KiB: half of the way to the "
                       "next level's latency");
  v.low = Count{std::round(crossed(kFirst).value_or(*half))};
  v.high = Count{std::round(crossed(kLast).value_or(*half))};
  return v;
}

std::vector<SetConflictCase> set_conflict_cases(const Known& known) {
  constexpr int64_t kPages = 64;  // far more than a set's ways, so that all miss; no more than most
                                  // first TLBs have entries
  constexpr double kBeyond = 2;   // times what the cache holds
  constexpr int64_t kNeighbourStride = kRowBytes - kPageBytes;
  const double end = known.levels.knees.empty() ? 0 : known.levels.knees.front().to;
  return {{true, false, kPages, kPageBytes},
          {false, false, static_cast<int64_t>(kBeyond * end) / kNeighbourStride, kNeighbourStride},
          {true, true, kPages, kPageBytes}};
}

void add_set_conflict(const Observations& all, const Known& known, MemoryLevel& to) {
  constexpr double kSlower = 1.5;  // than neighbouring lines
  const std::vector<SetConflictCase> kinds = set_conflict_cases(known);
  const auto time_of = [&](const SetConflictCase& t) {
    return summarize(select(all, "ways", t.what(), {{"stride", double(t.stride)}}),
                     Estimator::latency);
  };
  const auto neighbours = time_of(kinds[1]);
  const auto add = [&](const SetConflictCase& t, hwdesc::Value<Latency>& cost) {
    const auto conflicting = time_of(t);
    if (!conflicting || !neighbours || conflicting->clock_hz <= 0) return;
    if (conflicting->value < kSlower * neighbours->value) {
      cost = unknown_value<Latency>("lines that meet in a set come as fast as others");
      return;
    }
    if (!to.capacity.known() || !to.ways.known()) {
      cost =
          unknown_value<Latency>("how many sets pages begin in is not known, as its ways are not");
      return;
    }
    const double way = to.capacity.value->v / to.ways.value->v,
                 sets = std::max(1.0, std::round(way / kPageBytes)), hz = conflicting->clock_hz;
    cost = latency_value({conflicting->value * sets * hz, conflicting->low * sets * hz,
                          conflicting->high * sets * hz, conflicting->n, ""},
                         kCore,
                         fmt::format("vector {} of {} pages' first lines, over and over",
                                     t.stores ? "stores to parts" : "loads", t.lines));
    cost.note = fmt::format("lines side by side that the cache does not hold take {:.1f}",
                            neighbours->value * hz);
  };
  add(kinds[0], to.set_conflict);
  add(kinds[2], to.set_conflict_dirty);
}

}  // namespace assay::probe
