// Straight-line code that a unit ran recently, and code that was evicted from its own caches or
// from all.
#include <algorithm>
#include <optional>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/straight_line_code.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

// Times what the last cache may hold: reading more takes milliseconds.
constexpr double kFullEvictionFactor = 2;
constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr int kRuns = 9;  // of the code in a sample; their median counts, since one launch is short
constexpr int kFewRuns = 3;

using Launches = std::vector<runtime::Launch>;

// Launches of the code, `between` before each of them.
Launches alternating(const runtime::Launch& code, const Launches& between, int runs) {
  Launches out;
  for (int i = 0; i < runs; ++i) {
    out.insert(out.end(), between.begin(), between.end());
    out.push_back(code);
  }
  return out;
}

// Reading so many bytes once.
runtime::Launch reading(Session& s, double bytes) {
  const auto blocks = static_cast<int64_t>(bytes) / kBlockBytes + 1;
  return s.bench.launch(unit_pass(s, 0, "read", s.bench.allocate(blocks * kBlockBytes), blocks), 1);
}

// Bytes of reading that evict everything. 0: there is no shared cache, or they are too many.
double bytes_evicting_all(const Known& known) {
  const bool shared = !known.sharing.empty() && !known.sharing.back().always_private();
  const double bytes = kFullEvictionFactor * std::max(known.cached, known.levels.knees.back().to);
  return shared && bytes <= static_cast<double>(kMostBytes) ? bytes : 0;
}

// Seconds of one launch of the code, each after `between` other launches.
double median_of_code(Bench& bench, std::span<const runtime::Launch> launches, size_t between) {
  const std::vector<double> all = bench.run(launches);
  std::vector<double> code;
  for (size_t i = between; i < all.size(); i += between + 1) code.push_back(all[i]);
  return quantile(std::move(code), 0.5);
}

}  // namespace

void run_cold_code(Session& s) {
  if (s.device.threads || s.device.simulated)
    return;  // the unit of a group is unknown; simulated devices fetch no code
  const std::optional<size_t> cache = s.known.own_cache();
  if (!cache) return;
  const double own = s.known.levels.knees[*cache].to;
  Job nothing;
  nothing.kernel = straight_line_name(kOtherCodeSteps);
  struct CodePoint {
    const char* what;
    int steps, runs;
    Launches between;
  };
  const runtime::Launch evict_own = reading(s, kEvictionFactor * own),
                        idle = s.bench.launch(nothing, 1);
  std::vector<CodePoint> all;
  for (const int steps : cold_code_steps())
    all.insert(all.end(), {{"warm", steps, kRuns, {idle}}, {"cold", steps, kRuns, {evict_own}}});
  if (const double bytes = bytes_evicting_all(s.known);
      bytes > 0) {  // other code reloads what every launch needs, as the steps of a plan do
    const runtime::Launch evict_all = reading(s, bytes);
    for (const int steps : cold_code_steps())
      all.push_back({"uncached", steps, kFewRuns, {evict_all, idle}});
  }
  s.rounds(all.size(), [&](size_t i) {
    const CodePoint& point = all[i];
    Job job;
    job.kernel = straight_line_name(point.steps);
    const Launches list = alternating(s.bench.launch(job, 1), point.between, point.runs);
    const Conditions at = {{"steps", point.steps},
                           {"bytes", static_cast<double>(s.bench.code_bytes(job.kernel))}};
    Observation o{"cold", point.what, at, "s", {}, {}, 0, {}};
    for (int k = 0; k < 3; ++k)
      s.bench.sample(o, [&] { return median_of_code(s.bench, list, point.between.size()); });
    s.emit(o);
  });
}

}  // namespace assay::probe
