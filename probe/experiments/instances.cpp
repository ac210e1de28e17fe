// Does one cache serve all units, or several instances parts of them?
#include "probe/inference/instances.h"

#include <algorithm>
#include <cmath>

#include "probe/experiments/experiments.h"
#include "probe/inference/stats.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"

namespace assay::probe {
namespace {

constexpr double kLeavesOwn = 2.5;  // times the cache before, in each unit that chases
constexpr int kMostInstances = 8;
constexpr double kGolden = 0.6180339887498949;

// So many of n groups, spread evenly whatever parts the instances serve.
std::vector<int> spread(int count, int n) {
  std::vector<int> out;
  for (int i = 0; i < n && static_cast<int>(out.size()) < count; ++i) {
    const double at = i * kGolden;
    const int g = static_cast<int>((at - std::floor(at)) * n);
    if (std::find(out.begin(), out.end(), g) == out.end()) out.push_back(g);
  }
  return out;
}

struct ChaseLoad {
  size_t level = 0;
  double times = 0;   // total footprint over the capacity
  int groups = 0;     // that chase; the others stay at one node
  int64_t bytes = 0;  // of each
};

std::vector<ChaseLoad> chase_loads(const Session& s) {
  std::vector<ChaseLoad> out;
  const auto& knees = s.known.levels.knees;
  const int units = static_cast<int>(s.known.units);
  for (size_t i = 0; i < knees.size(); ++i) {
    if (!s.known.sharing[i].shared) continue;
    const double before = i > 0 ? knees[i - 1].to : 0;
    for (double times = kHitsInTwo; times < kMostInstances; times *= 2) {
      const double total = times * knees[i].capacity,
                   least = std::max(kLeavesOwn * before, double(kBlockBytes));
      const int groups = std::min(units, static_cast<int>(total / least));
      if (groups < 4 || total > static_cast<double>(s.max_bytes) / 2) break;
      out.push_back(
          {i, times, groups, static_cast<int64_t>(total / groups) / kBlockBytes * kBlockBytes});
    }
  }
  return out;
}

// The time of a hop. Groups that do not chase follow a node that points to itself.
double measure_instances(Session& s, const ChaseArea& area, const ChaseLoad& c, int64_t quiet) {
  const int units = static_cast<int>(s.known.units);
  s.bench.module().write_words(area.nodes, std::vector<runtime::Word>{{quiet, quiet / 8}});
  for (int u = 0; u < units; ++u) area.start_at(s.bench, u, quiet / 8);
  const std::vector<int> chasing = spread(c.groups, units);
  int64_t hops = 1;
  for (size_t n = 0; n < chasing.size(); ++n) {
    Cycle cycle = sparse_cycle(c.bytes, static_cast<int64_t>(s.known.line));
    cycle.begin = static_cast<int64_t>(n) * c.bytes;
    hops = cycle.nodes;
    area.start_at(s.bench, chasing[n], write_cycle(s.bench, area.nodes, cycle, s.random));
  }
  Job job = chase_job(area, units, 0.3e-3);
  const runtime::Launch pass = s.bench.launch(job, hops / kChaseSteps + 1);
  s.warm_up(pass);
  const Observation o = s.bench.measure("instances", "chase",
                                        {{"level", double(c.level)},
                                         {"times", c.times},
                                         {"groups", c.groups},
                                         {"bytes", double(c.bytes)}},
                                        job);
  s.emit(o);
  return quantile(o.samples, 0.5);
}

}  // namespace

// Growing footprints, until the caches no longer hold them.
void run_instances(Session& s) {
  if (!s.device.threads || s.known.units < 4 || s.known.units > kSlots) return;
  const std::vector<ChaseLoad> loads = chase_loads(s);
  if (loads.empty()) return;
  int64_t quiet = 0;
  for (const ChaseLoad& c : loads) quiet = std::max(quiet, c.groups * c.bytes);
  const ChaseArea area = ChaseArea::make(s.bench, quiet + kBlockBytes);
  std::vector<bool> beyond(s.known.levels.knees.size(), false);
  for (const ChaseLoad& c : loads) {
    if (beyond[c.level]) continue;
    const double here = s.known.levels.plateaus[c.level].seconds,
                 next = s.known.levels.plateaus[c.level + 1].seconds;
    beyond[c.level] = measure_instances(s, area, c, quiet) > (here + next) / 2;
  }
}

}  // namespace assay::probe
