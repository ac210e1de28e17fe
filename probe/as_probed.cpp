#include "probe/as_probed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probe/inference/sharing.h"

namespace assay::probe {
namespace {

constexpr int kBursts = 3;                         // of which the fastest counts
constexpr double kAsFast = 0.88, kAsPlaced = 0.7;  // of the profile's rates: as it was probed
// Of the profile's rates: the device was slower, or its units further from each other, when probed.
constexpr double kFaster = 1.12, kPlacedNearer = 1.5;

void scale(hwdesc::Value<hwdesc::Bandwidth>& v, double by) {
  for (std::optional<hwdesc::Bandwidth>* b : {&v.value, &v.low, &v.high})
    if (*b) (*b)->v *= by;
}

}  // namespace

bool was_probed(const hwdesc::Target& target) {
  const std::vector<hwdesc::Pipe>& pipes = target.profile.pipes;
  return std::any_of(pipes.begin(), pipes.end(), [](const hwdesc::Pipe& p) {
    return p.name == "fma" && p.rate.known() && p.rate.source == hwdesc::Origin::measured;
  });
}

Result<AsProbed> as_probed(HostState& host, const ProfileRates& profile,
                           const runtime::CancelToken* cancel) {
  AsProbed out;
  for (int i = 0; i < kBursts; ++i) {
    if (const auto ran = host.slow(cancel); !ran) return ran.diags();
    out.multiply_adds =
        std::max(out.multiply_adds, host.multiply_add_rate() / profile.multiply_adds);
  }
  const Result<CoherenceRates> rates = host.coherence(cancel);
  if (!rates) return rates.diags();
  if (profile.dirty_remote_read > 0)
    out.dirty_remote_read = rates->dirty_remote_read / profile.dirty_remote_read;
  if (profile.upgrade > 0) out.upgrade = rates->upgrade / profile.upgrade;
  out.cross_die_ratio = rates->cross_die_ratio;
  return out;
}

hwdesc::Profile profile_as_placed(hwdesc::Profile profile, const AsProbed& now) {
  for (hwdesc::MemoryLevel& l : profile.memory) {
    if (now.dirty_remote_read > 0)
      scale(l.bandwidth.dirty_remote_read, now.dirty_remote_read),
          scale(l.bandwidth.dirty_remote_rfo, now.dirty_remote_read);
    if (now.upgrade > 0) scale(l.bandwidth.upgrade, now.upgrade);
  }
  const std::optional<LastCaches> caches = shared_last_cache(profile);
  if (!caches || !is_cross_die(now.cross_die_ratio)) return profile;
  hwdesc::MemoryLevel& last = profile.memory[caches->last];
  last.per = profile.memory[caches->own].per;
  hwdesc::MemoryBandwidth& b = last.bandwidth;
  const double alone =
      b.per_unit.known() && b.read.known() ? b.per_unit.value->v / b.read.value->v : 0.5;
  for (hwdesc::Value<hwdesc::Bandwidth>* v :
       {&b.read, &b.write, &b.copy, &b.triad, &b.short_run_read, &b.short_run_write})
    scale(*v, alone);
  return profile;
}

double likeness(const AsProbed& now) {
  const auto part = [](double rate, double enough) {
    return rate > 0 ? std::min(1.0, rate / enough) : 1;
  };
  return part(now.multiply_adds, kAsFast) * part(now.dirty_remote_read, kAsPlaced) *
         (is_cross_die(now.cross_die_ratio) ? kRemoteCacheRatio / now.cross_die_ratio : 1);
}

bool placed_as_probed(const AsProbed& now) {
  return !is_cross_die(now.cross_die_ratio) &&
         (now.dirty_remote_read <= 0 ||
          (now.dirty_remote_read >= kAsPlaced && now.dirty_remote_read <= kPlacedNearer));
}

Diags differences(const AsProbed& now) {
  Diags out;
  const auto say = [&](std::string what, const char* hint) {
    Diag d = error(std::move(what), hint);
    d.severity = Severity::warning;
    out.push_back(std::move(d));
  };
  constexpr const char* kLater = "run it again later, or probe the device as it is now";
  const auto differs = [&](double rate, double least, double most, const char* what,
                           const char* slower, const char* faster) {
    if (rate <= 0 || (rate >= least && rate <= most)) return;
    say(fmt::format("{} at {:.2f} times the rate that the profile says: {}", what, rate,
                    rate < least ? slower : faster),
        rate < least ? kLater : "probe the device as it is now");
  };
  differs(now.multiply_adds, kAsFast, kFaster, "multiply-adds ran",
          "others use the same cores, or the host runs several units on one",
          "the chip was slower when it was probed");
  if (is_cross_die(now.cross_die_ratio))
    say(fmt::format("a unit reads what another one has loaded into the last cache {:.1f} times "
                    "slower than its own: the host runs them on dies with such a cache each",
                    now.cross_die_ratio),
        kLater);
  differs(now.dirty_remote_read, kAsPlaced, kPlacedNearer,
          "units read what another one has written",
          "the host places them on more distant cores than when they were probed",
          "the host placed them on more distant cores when they were probed");
  return out;
}

}  // namespace assay::probe
