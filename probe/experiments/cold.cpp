// Straight-line code that a unit has run lately, and code that other memory has driven out of its
// own caches, or out of all.
#include <algorithm>
#include <optional>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/straight.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr double kDrivesOutOfAll =
    2;  // times what the last cache may hold: reading that takes milliseconds
constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr int kRuns =
    9;  // of the code in a sample; the median counts: one launch is too short for more
constexpr int kFewRuns = 3;

using Launches = std::vector<runtime::Launch>;

// Launches of the code, `between` before each of them.
Launches turns(const runtime::Launch& code, const Launches& between, int runs) {
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
  return s.bench.launch(pass_of(s, 0, "read", s.bench.allocate(blocks * kBlockBytes), blocks), 1);
}

// Bytes of reading that leave nothing in any cache; 0: a unit's own are all there are, or it would
// take too many.
double bytes_out_of_all(const Known& known) {
  const bool shared = !known.sharing.empty() && !known.sharing.back().own_always();
  const double bytes = kDrivesOutOfAll * std::max(known.cached, known.levels.knees.back().to);
  return shared && bytes <= static_cast<double>(kMostBytes) ? bytes : 0;
}

// Seconds of one launch of the code, behind so many others each time.
double median_of_code(Bench& bench, std::span<const runtime::Launch> launches, size_t between) {
  const std::vector<double> all = bench.run(launches);
  std::vector<double> code;
  for (size_t i = between; i < all.size(); i += between + 1) code.push_back(all[i]);
  return quantile(std::move(code), 0.5);
}

}  // namespace

void run_cold(Session& s) {
  if (s.device.threads || s.device.simulated)
    return;  // nobody knows which unit a group is on; simulated ones fetch no code
  const std::optional<size_t> cache = s.known.own_cache();
  if (!cache) return;
  const double own = s.known.levels.knees[*cache].to;
  Job nothing;
  nothing.kernel = straight_name(kShortCode);
  struct Turn {
    const char* what;
    int steps, runs;
    Launches between;
  };
  const runtime::Launch drives_out = reading(s, kDrivesOut * own),
                        idle = s.bench.launch(nothing, 1);
  std::vector<Turn> all;
  for (const int steps : cold_steps())
    all.insert(all.end(), {{"warm", steps, kRuns, {idle}}, {"cold", steps, kRuns, {drives_out}}});
  if (const double bytes = bytes_out_of_all(s.known);
      bytes > 0) {  // other code brings back what every launch needs, as the steps of a plan do
    const runtime::Launch out_of_all = reading(s, bytes);
    for (const int steps : cold_steps())
      all.push_back({"uncached", steps, kFewRuns, {out_of_all, idle}});
  }
  s.rounds(all.size(), [&](size_t i) {
    const Turn& turn = all[i];
    Job job;
    job.kernel = straight_name(turn.steps);
    const Launches list = turns(s.bench.launch(job, 1), turn.between, turn.runs);
    const Conditions at = {{"steps", turn.steps},
                           {"bytes", static_cast<double>(s.bench.code_bytes(job.kernel))}};
    Observation o{"cold", turn.what, at, "s", {}, {}, 0, {}};
    for (int k = 0; k < 3; ++k)
      s.bench.sample(o, [&] { return median_of_code(s.bench, list, turn.between.size()); });
    s.emit(o);
  });
}

}  // namespace assay::probe
