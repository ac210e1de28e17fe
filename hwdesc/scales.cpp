#include "hwdesc/scales.h"

namespace assay::hwdesc {

std::optional<double> instances_of(const Profile& profile, const std::string& per) {
  if (per == "device" || per == "host") return 1;
  double instances = 1;
  for (const TopologyLevel& level : profile.topology) {
    if (!level.count.known()) return std::nullopt;
    instances *= level.count.value->v;
    if (level.name == per) return instances;
  }
  return std::nullopt;
}

std::optional<double> ticks_per_second(const Profile& profile, const std::string& clock) {
  if (clock.empty()) return 1;
  for (const Clock& c : profile.clocks)
    if (c.name == clock && c.max.known()) return c.max.value->v;
  return std::nullopt;
}

}  // namespace assay::hwdesc
