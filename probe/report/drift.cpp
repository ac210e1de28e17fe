#include "probe/report/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "probe/inference/stats.h"

namespace assay::probe {
namespace {

constexpr size_t kBlocks = 10;  // that are enough

struct Clocks {
  double slow = 0, fast = 0;
  bool differ() const { return slow < kOneClock * fast; }
};

Clocks of(const std::vector<double>& clocks) {
  return {quantile(clocks, 0.05), quantile(clocks, 0.95)};
}

}  // namespace

std::string drift_note(const Observations& all) {
  std::vector<double> clocks;
  std::map<std::string, std::vector<double>> by_experiment;
  for (const Observation& o : all.points) {
    if (!o.clock_hz || *o.clock_hz <= 0 || o.foreign > kDisturbed) continue;
    clocks.push_back(*o.clock_hz);
    by_experiment[o.experiment].push_back(*o.clock_hz);
  }
  if (clocks.size() < kBlocks || !of(clocks).differ()) return "";
  std::string within;
  for (const auto& [name, here] : by_experiment)
    if (of(here).differ()) within += (within.empty() ? "" : ", ") + name;
  return fmt::format(
      "The clock changed: {:.0f} to {:.0f} MHz from the slowest to the fastest, without blocks "
      "that others disturbed{}.",
      of(clocks).slow * 1e-6, of(clocks).fast * 1e-6, within.empty() ? "" : "; within " + within);
}

}  // namespace assay::probe
