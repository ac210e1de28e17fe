#include "probe/sampling/belief.h"

#include <fmt/format.h>

#include <vector>

#include "probe/sampling/session.h"
#include "support/page/text.h"

namespace assay::probe {
namespace {

// Of a single run. A simulated device has no host that delays it.
constexpr double kMore = 2, kLess = 4, kSimulatedLess = 2;  // times the other clock
constexpr double kTick = 1e-3;                              // s that any clock may be off
constexpr double kDispatchTime = 2e-3;                      // s of dispatch per launch
constexpr double kHostDelay = 10e-3;                        // s that the host may be late

// Of the check.
constexpr double kLaunch = 5e-3;  // s of each launch
constexpr int kFew = 1, kMany = 9;
constexpr double kSame = 1.5;
constexpr int kTries = 8;

bool same(const Clocks& c) {
  return c.device < kSame * c.outside &&
         c.outside < kSame * c.device + (c.simulated ? 0 : kDispatchTime * c.launches);
}

// By both clocks: the time of the many less that of the few. A run that is impossible is returned
// itself.
Clocks difference(Bench& bench, const runtime::Launch& launch) {
  const auto clocks = [&](int n) {
    bench.run(std::vector<runtime::Launch>(static_cast<size_t>(n), launch));
    return bench.clocks();
  };
  const Clocks few = clocks(kFew), many = clocks(kMany);
  for (const Clocks& c : {few, many})
    if (belief_in(c) == Belief::none) return c;
  return {many.device - few.device, many.outside - few.outside, kMany - kFew, many.simulated};
}

}  // namespace

Belief belief_in(const Clocks& c) {
  if (c.simulated)
    return c.device <= kMore * c.outside && c.outside <= kSimulatedLess * c.device ? Belief::good
                                                                                   : Belief::none;
  if (!(c.device <= kMore * c.outside + kTick)) return Belief::none;
  return c.outside > kLess * c.device + kDispatchTime * c.launches + kHostDelay ? Belief::doubtful
                                                                                : Belief::good;
}

std::string text_of(const Clocks& c) {
  return fmt::format("the device says {} of what took {}",
                     page::human(c.device, page::Kind::seconds),
                     page::human(c.outside, page::Kind::seconds));
}

void check_times(Session& s) {
  const Job job = s.bench.sentinel_job(1, kLaunch);
  const runtime::Launch launch = s.bench.launch(job, s.bench.amount_for("check of times", job));
  s.bench.run({&launch, 1});
  Clocks c;
  for (int i = 0; i < kTries; ++i)
    if (same(c = difference(s.bench, launch))) return;
  fail({error(kNoTrust + (": " + text_of(c)))});
}

}  // namespace assay::probe
