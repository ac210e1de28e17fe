#include "probe/inference/doubts.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "probe/inference/ticks.h"

namespace assay::probe {
namespace {

struct Doubts {
  int again = 0, samples = 0;
};

Doubts counted(const Observations& all) {
  Doubts out;
  for (const auto& [name, text] : all.facts) {
    const size_t of = text.find(" of ");
    if (!name.starts_with(kDoubted) || of == std::string::npos) continue;
    out.again += std::atoi(text.c_str());
    out.samples += std::atoi(text.c_str() + of + 4);
  }
  return out;
}

}  // namespace

Observations finished_only(Observations all) {
  if (all.endings.empty()) return all;
  std::erase_if(all.points, [&](const Observation& o) { return !all.finished(o.experiment); });
  return all;
}

Observations usable_observations(const Observations& raw) {
  Observations all = finished_only(raw);
  if (all.fact("class") == "gpu")
    for (Observation& o : all.points) o.foreign = kNobody;
  return with_ticks(std::move(all));
}

std::string doubts_of(const Observations& all) {
  std::string out;
  if (const Doubts d = counted(all); d.again > 0)
    out = fmt::format(
        "{} taken again beside {} that count: the device's own times and a clock from outside "
        "disagreed{}",
        d.again == 1 ? "1 sample was" : fmt::format("{} samples were", d.again), d.samples,
        all.fact("simulated").empty() ? " (as they do where others keep the host)" : "");
  std::vector<std::string> ended;
  for (const Ending& e : all.endings)
    if (e.outcome == Outcome::failed && e.reason.find(kNoTrust) != std::string::npos)
      ended.push_back(e.experiment);
  if (!ended.empty())
    out += fmt::format("{}the device's times could not be trusted in: {}", out.empty() ? "" : "; ",
                       fmt::join(ended, ", "));
  return out;
}

std::string unfinished(const Observations& all) {
  std::map<std::string, std::string> last;
  for (const Ending& e : all.endings)
    if (!all.finished(e.experiment)) last[e.experiment] = e.reason;
  std::string out;
  for (const auto& [experiment, reason] : last)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", experiment, reason);
  return out;
}

}  // namespace assay::probe
