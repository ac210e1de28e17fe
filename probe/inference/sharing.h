// Whether all units share a cache: measured, or else declared by the system, or else a guess (the
// first two private).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probe/inference/knee.h"
#include "probe/observation.h"

namespace assay::probe {

struct Sharing {
  bool shared = false;
  std::string why;
  bool certain = true;    // false: a guess
  bool declared = false;  // as shared by the system, whatever the measurement shows

  // Cross-die placement makes a declared shared cache look private for a while.
  bool always_private() const { return !shared && !declared; }
};

// Least ratio of reading another unit's bytes to reading its own that shows another cache.
inline constexpr double kRemoteCacheRatio = 1.8;

// Time of reading, in the last cache, what another unit has read there before, over that of reading
// its own bytes. Of undisturbed samples, since a unit that has to wait is slow, too. nullopt: too
// few of them.
std::optional<double> remote_read_ratio(std::span<const Observation> own,
                                        std::span<const Observation> other);

// Whether it is another cache, of disturbed samples, three or more in one block. True where most
// samples show it even without their waiting time; false where they do not show it with that; else
// nullopt.
std::optional<bool> in_remote_cache(std::span<const Observation> own,
                                    std::span<const Observation> other);

// A host places units on one die or on several, and each block of transfers between units is of one
// placement. What else is measured of units is the best they reach, so it belongs to one die. Those
// blocks where there are enough of them; else all.
std::vector<Observation> same_die_blocks(std::vector<Observation> blocks);

// Of the i-th cache. `may_hold`: bytes of one such cache at most; `chase`: the latency curve.
Sharing sharing_of(const Observations& all, size_t i, double may_hold,
                   std::span<const CurvePoint> chase);

}  // namespace assay::probe
