// Straight-line code that a unit has run lately, and code that other memory has driven out of its own caches.
#include <algorithm>
#include <vector>

#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/kernels.h"
#include "probe/straight.h"

namespace assay::probe {
namespace {

constexpr double kDrivesOut = 2.5;  // times what a unit's own caches hold
constexpr int kRuns = 9;            // of the code in a sample; the median counts: one launch is too short for more

// Launches of the code, `between` before each of them.
std::vector<runtime::Launch> turns(const runtime::Launch& code, const runtime::Launch& between) {
  std::vector<runtime::Launch> out;
  for (int i = 0; i < kRuns; ++i) out.insert(out.end(), {between, code});
  return out;
}

// Seconds of one launch of the code.
double median_of_code(Bench& bench, std::span<const runtime::Launch> launches) {
  const std::vector<double> all = bench.run(launches);
  std::vector<double> code;
  for (size_t i = 1; i < all.size(); i += 2) code.push_back(all[i]);
  return quantile(std::move(code), 0.5);
}

}  // namespace

void run_cold(Session& s) {
  if (s.device.threads || s.device.simulated) return;  // nobody knows which unit a group is on; simulated ones fetch no code
  const std::vector<KneePoint>& knees = s.known.levels.knees;
  double own = 0;
  for (size_t i = 0; i < knees.size() && i < s.known.sharing.size(); ++i)
    if (!s.known.sharing[i].shared) own = std::max(own, knees[i].to);
  if (own <= 0) return;
  const auto blocks = static_cast<int64_t>(kDrivesOut * own) / kBlockBytes + 1;
  Job others, nothing;
  others.kernel = access_name("read", s.known.lanes);
  others.arguments = {{s.bench.allocate(blocks * kBlockBytes), 0}};
  others.parameters = [=](int64_t passes) { return std::vector<double>{double(passes), double(blocks), 0}; };
  nothing.kernel = straight_name(kShortCode);
  const runtime::Launch drives_out = s.bench.launch(others, 1), idle = s.bench.launch(nothing, 1);
  const std::vector<int> sizes = cold_steps();
  s.rounds(2 * sizes.size(), [&](size_t i) {
    const int steps = sizes[i / 2];
    const bool cold = i % 2 == 1;
    Job job;
    job.kernel = straight_name(steps);
    const std::vector<runtime::Launch> list = turns(s.bench.launch(job, 1), cold ? drives_out : idle);
    const Conditions at = {{"steps", steps}, {"bytes", static_cast<double>(s.bench.code_bytes(job.kernel))}};
    Observation o{"cold", cold ? "cold" : "warm", at, "s", {}, {}, 0, {}};
    for (int k = 0; k < 3; ++k) s.bench.sample(o, [&] { return median_of_code(s.bench, list); });
    s.emit(o);
  });
}

}  // namespace assay::probe
