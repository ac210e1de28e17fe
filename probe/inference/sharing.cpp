#include "probe/inference/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "probe/inference/known.h"
#include "probe/inference/sharing_contrast.h"
#include "probe/inference/stats.h"

namespace assay::probe {
namespace {

constexpr size_t kQuietSamples = 12;  // that show a shared cache, since co-tenants fill one too

// The fastest sample, of all or of the quiet blocks alone; nullopt: too few of those.
std::optional<double> fastest(const std::vector<Observation>& blocks, bool quiet, size_t needed) {
  std::vector<double> times;
  for (const Observation& o : blocks)
    if (!quiet || o.foreign <= kDisturbed)
      times.insert(times.end(), o.samples.begin(), o.samples.end());
  if (times.empty() || (quiet && times.size() < needed)) return std::nullopt;
  return *std::min_element(times.begin(), times.end());
}

// The median of one unit's samples, of the quiet blocks alone. A co-tenant on a core's sibling
// thread, whom the system does not see, slows a unit as much as sharing a cache would.
std::optional<double> usual(const std::vector<Observation>& blocks, size_t needed) {
  std::vector<double> times;
  for (const Observation& o : blocks)
    if (o.foreign <= kDisturbed) times.insert(times.end(), o.samples.begin(), o.samples.end());
  if (times.size() < needed) return std::nullopt;
  return quantile(std::move(times), 0.5);
}

// By the slowest unit alone: all together are at least as slow.
std::optional<double> slowest_alone(const std::vector<Observation>& blocks, bool quiet,
                                    size_t needed) {
  std::map<double, std::vector<Observation>> by_unit;
  for (const Observation& o : blocks) by_unit[o.value_at("first", 0)].push_back(o);
  std::optional<double> slowest;
  for (const auto& [unit, own] : by_unit) {
    const auto f = quiet ? usual(own, needed) : fastest(own, quiet, needed);
    if (!f) return std::nullopt;
    slowest = std::max(slowest.value_or(0), *f);
  }
  return slowest;
}

constexpr double kSameClock = 0.1;

// The ratio of two sets of blocks' clocks; 1 where they are about the same, or unknown.
double faster(const std::vector<Observation>& blocks, const std::vector<Observation>& others) {
  const auto middle = [](const std::vector<Observation>& all) {
    std::vector<double> clocks;
    for (const Observation& o : all)
      if (o.clock_hz) clocks.push_back(*o.clock_hz);
    return clocks.empty() ? 0 : quantile(std::move(clocks), 0.5);
  };
  const double a = middle(blocks), b = middle(others);
  return a <= 0 || b <= 0 || std::abs(a / b - 1) < kSameClock ? 1 : a / b;
}

// The looks of both sets at their highest clock, where each set has some.
void keep_fastest_clock(std::vector<Observation>& blocks, std::vector<Observation>& others) {
  double most = 0;
  for (const auto* all : {&blocks, &others})
    for (const Observation& o : *all) most = std::max(most, o.clock_hz.value_or(0));
  const auto slower = [&](const Observation& o) {
    return o.clock_hz.value_or(most) < (1 - kSameClock) * most;
  };
  const auto all_slower = [&](const auto& all) { return std::ranges::all_of(all, slower); };
  if (all_slower(blocks) || all_slower(others)) return;
  std::erase_if(blocks, slower);
  std::erase_if(others, slower);
}

constexpr size_t kFewFound = 5;  // undisturbed samples needed for that

// In a cache that all units share, another unit's bytes are read as fast as a unit's own. Where
// they are not, the cache is not shared by all, whatever the system declares. nullopt: not
// measured, or as fast.
std::optional<Sharing> found_elsewhere(const Observations& all, size_t i) {
  const Conditions at = {{"level", static_cast<double>(i)}};
  const std::optional<double> times = remote_read_ratio(select(all, "shared_reads", "own", at),
                                                        select(all, "shared_reads", "other", at));
  if (!times || *times < kRemoteCacheRatio) return std::nullopt;
  const std::string declared = declared_cache(all, i);
  return Sharing{false,
                 fmt::format("what another unit has read takes {:.1f} times as long as its own{}",
                             *times, declared.empty() ? "" : ", whatever the system declares")};
}

struct MeasuredSharing {
  Sharing sharing;
  bool sure = true;
};

// Looks at one unit that a neighbour did not disturb: they hit, as the best ones of the curve do.
std::vector<Observation> that_hit(const Observations& all, std::vector<Observation> of_one,
                                  double longest) {
  const std::vector<Observation> chase = chase_blocks(all);
  std::erase_if(of_one, [&](const Observation& o) {
    return o.samples.empty() ||
           quantile(o.samples, 0.5) * std::min(1.0, faster({o}, chase)) > longest;
  });
  return of_one;
}

// Looks at all units and at one, each in `bytes` of its own.
//
// One fast sample of all units proves a private cache, if their footprint exceeds what one such
// cache may hold, despite a smeared knee. Or if one unit alone would be clearly slower in as much,
// and the sample is undisturbed. A shared cache is never fast. To show one takes many undisturbed
// samples, all slower than one unit's median. Where one unit alone misses what it hits at other
// times, a neighbour has the cache, and nothing is told.
std::optional<MeasuredSharing> sharing_in(const Observations& all, size_t i, double bytes,
                                          double may_hold, std::span<const CurvePoint> chase) {
  std::vector<Observation> blocks =
      select(all, "sharing", "chase", {{"level", static_cast<double>(i)}});
  std::erase_if(blocks, [&](const Observation& o) { return o.value_at("bytes") != bytes; });
  const std::vector<double> units = values_of(blocks, "units");
  if (units.size() < 2) return std::nullopt;
  const auto of = [&](double n) {
    std::vector<Observation> out = blocks;
    std::erase_if(out, [&](const Observation& o) { return o.value_at("units") != n; });
    return out;
  };
  const int most = static_cast<int>(units.back());
  const std::span<const CurvePoint> curve = bytes > 0 ? chase : std::span<const CurvePoint>();
  std::vector<Observation> of_one = that_hit(all, of(units.front()),
                                             longest_of_hits(curve, bytes, most)),
                           of_many = of(units.back());
  keep_fastest_clock(of_one, of_many);
  const size_t needed = all.fact("simulated").empty() ? kQuietSamples : 1;
  const auto ratio = [&](bool quiet) -> double {
    const auto one = slowest_alone(of_one, quiet, needed), many = fastest(of_many, quiet, needed);
    return one && many ? *many / *one * std::min(1.0, faster(of_many, of_one))
                       : 0;  // the clock alone may make them slower
  };
  const auto sharing_of_ratio = [&](bool shared, double r) {
    return Sharing{shared, fmt::format("{} units, each in {:.0f} KiB, take {:.2f} times as long as "
                                       "one",
                                       most, bytes / 1024, r)};
  };
  const double room = std::max(may_hold, declared_bytes(all, i));  // co-tenants hide a part of it
  const bool alone = declared_cache(all, i).empty(),
             proves = bytes * most > room ||
                      (alone && sharing_contrast(curve, bytes, most) > kCertainContrast);
  if (const double r = ratio(false); r > 0 && r < kCrowded)
    return MeasuredSharing{sharing_of_ratio(false, r), proves};
  if (const double r = ratio(true); r >= kCrowded)
    return MeasuredSharing{sharing_of_ratio(true, r), true};
  return std::nullopt;
}

// The largest footprint that proves something: later visits know the capacity better.
std::optional<MeasuredSharing> measured_sharing(const Observations& all, size_t i, double may_hold,
                                                std::span<const CurvePoint> chase) {
  std::vector<double> bytes =
      values_of(select(all, "sharing", "chase", {{"level", static_cast<double>(i)}}), "bytes");
  if (bytes.empty()) bytes.push_back(0);  // of an unknown footprint
  std::optional<MeasuredSharing> unsure;
  for (auto b = bytes.rbegin(); b != bytes.rend(); ++b) {
    const auto told = sharing_in(all, i, *b, may_hold, chase);
    if (told && told->sure) return told;
    if (told && !unsure) unsure = told;
  }
  return unsure;
}

// Multiply-adds share nothing. A unit that is mostly slower at them while others run shares a core,
// or waits.
bool kept_from_each_other(const Observations& all) {
  const std::vector<Observation> control = select(all, "sharing", "control");
  if (const std::vector<double> units = values_of(control, "units"); units.size() > 1) {
    const auto middle = [&](double n) {
      std::vector<double> times;
      for (const Observation& o : select(all, "sharing", "control", {{"units", n}}))
        times.insert(times.end(), o.samples.begin(), o.samples.end());
      return times.empty() ? 0 : quantile(std::move(times), 0.5);
    };
    if (middle(units.back()) > kCrowded * middle(units.front())) return true;
  }
  return !units_are_real(all);
}

// nullopt: it does not say who uses that cache.
std::optional<bool> declared_shared(const std::string& declared) {
  const size_t at = declared.find("CPUs ");
  if (at == std::string::npos) return std::nullopt;
  return declared.substr(at + 5, declared.find(", line") - at - 5).find_first_of(",-") !=
         std::string::npos;
}

Sharing told_sharing(const Observations& all, size_t i, double may_hold,
                     std::span<const CurvePoint> chase) {
  if (const auto elsewhere = found_elsewhere(all, i)) return *elsewhere;
  const auto measured = measured_sharing(all, i, may_hold, chase);
  const std::optional<bool> declared = declared_shared(declared_cache(all, i));
  // Units that share a core for a while, or wait for each other, seem to share its caches.
  const bool waited = measured && measured->sharing.shared && declared && kept_from_each_other(all);
  if (measured && measured->sure && !waited) return measured->sharing;
  const std::string why =
      waited     ? measured->sharing.why + ", but do not add up at multiply-adds either"
      : measured ? measured->sharing.why + ", and may fit together"
                 : "sharing could not be told";
  if (!declared)
    return measured ? Sharing{false, why, false} : Sharing{i >= 2, why + ": a guess", false};
  return {*declared, why + ": as the system declares"};
}

}  // namespace

Sharing sharing_of(const Observations& all, size_t i, double may_hold,
                   std::span<const CurvePoint> chase) {
  Sharing s = told_sharing(all, i, may_hold, chase);
  s.declared = declared_shared(declared_cache(all, i)).value_or(false);
  return s;
}

std::optional<double> remote_read_ratio(std::span<const Observation> own,
                                        std::span<const Observation> other) {
  const auto undisturbed = [](std::span<const Observation> blocks) {
    std::vector<double> times;
    for (const Observation& o : blocks)
      for (size_t k = 0; k < o.samples.size(); ++k)
        if (o.foreign <= kDisturbed && (k >= o.disturbed.size() || o.disturbed[k] <= kDisturbed))
          times.push_back(o.samples[k]);
    return times;
  };
  std::vector<double> near = undisturbed(own), far = undisturbed(other);
  if (near.size() < kFewFound || far.size() < kFewFound) return std::nullopt;
  return quantile(std::move(far), 0.5) / quantile(std::move(near), 0.5);
}

std::optional<bool> in_remote_cache(std::span<const Observation> own,
                                    std::span<const Observation> other) {
  constexpr size_t kLook = 3;
  std::vector<double> near = all_samples(own), far = all_samples(other), less_waits;
  if (near.size() < kLook || far.size() < kLook) return std::nullopt;
  for (const Observation& o : other)
    for (size_t k = 0; k < o.samples.size(); ++k)
      less_waits.push_back(o.samples[k] *
                           (1 - std::clamp(k < o.disturbed.size() ? o.disturbed[k] : 0, 0.0, 1.0)));
  if (quantile(std::move(less_waits), 0.25) >= kRemoteCacheRatio * quantile(near, 0.5)) return true;
  return quantile(std::move(far), 0.5) < kRemoteCacheRatio * quantile(std::move(near), 0.25)
             ? std::optional(false)
             : std::nullopt;
}

std::vector<Observation> same_die_blocks(std::vector<Observation> blocks) {
  constexpr double kLonger = 2;  // times as long as the quickest block's
  constexpr size_t kEnough = 3;
  std::vector<Observation> near;
  double least = std::numeric_limits<double>::infinity();
  for (const Observation& o : blocks)
    if (!o.samples.empty()) least = std::min(least, quantile(o.samples, 0.5));
  for (const Observation& o : blocks)
    if (!o.samples.empty() && quantile(o.samples, 0.5) < kLonger * least) near.push_back(o);
  return near.size() >= kEnough ? near : blocks;
}

}  // namespace assay::probe
