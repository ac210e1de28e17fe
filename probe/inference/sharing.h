// Whether all units share a cache: measured, or else what the system declares, or else a guess (the
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
  bool told = true;  // false: a guess
  bool declared =
      false;  // by the system, that units share it, whatever was seen while the probe ran

  // A host may run units that share a cache on two dies for a while.
  bool own_always() const { return !shared && !declared; }
};

inline constexpr double kElsewhere =
    1.8;  // times as long as its own bytes, what another unit has read: it lies in another cache

// What a unit reads in the last cache that another one has read there before, over its own, of
// samples that nobody disturbed: a unit that has to wait is slow, too. nullopt: too few of them.
std::optional<double> times_as_long_elsewhere(std::span<const Observation> own,
                                              std::span<const Observation> other);

// The same of samples that others disturbed, one look of three or more: true where most samples,
// less what they waited, show another cache; false where they do not as they are; else nullopt.
std::optional<bool> surely_elsewhere(std::span<const Observation> own,
                                     std::span<const Observation> other);

// A host that runs units now near each other, now apart: blocks of what passes between units are of
// the one or of the other. What else is measured of units is the best they reach, so it is of those
// near each other where enough blocks show them; else all blocks.
std::vector<Observation> with_units_near(std::vector<Observation> blocks);

// Of the i-th cache. `may_hold`: bytes of one such cache at most; `chase`: the latency curve.
Sharing sharing_of(const Observations& all, size_t i, double may_hold,
                   std::span<const CurvePoint> chase);

}  // namespace assay::probe
