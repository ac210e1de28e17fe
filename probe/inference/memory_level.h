// One level of memory while it is inferred, and the bandwidths of it. Internal to memory*.cpp.
#pragma once

#include <string>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/inference/stats.h"
#include "probe/observation.h"

namespace assay::probe {

struct LevelContext {
  const Observations& all;
  const Known& known;
  size_t index = 0;  // of the level
  bool far = false;  // the last one
  bool shared = false;
  const Plateau& plateau() const { return known.levels.plateaus[index]; }
  // The largest or smallest number of units that an experiment ran with; 0: it did not.
  double units(const std::string& experiment, const std::string& what, bool most) const {
    const auto counts =
        values_of(select(all, experiment, what, {{"level", double(index)}}), "units");
    return counts.empty() ? 0 : most ? counts.back() : counts.front();
  }
};

// Bandwidths of all units and of one, and how they grow with the units that are active.
void add_bandwidth(const LevelContext& c, hwdesc::MemoryLevel& to);

// Does the last cache allocate on a store miss? A plain store that misses then reads its line
// first, and a non-temporal one does not: far memory shows the difference.
hwdesc::WritePolicy allocating_policy(const LevelContext& last_cache);

}  // namespace assay::probe
