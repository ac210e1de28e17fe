// Whether all units share a cache: measured, or else what the system declares, or else a guess (the first two private).
#pragma once

#include <span>
#include <string>

#include "probe/knee.h"
#include "probe/observation.h"

namespace assay::probe {

struct Sharing {
  bool shared = false;
  std::string why;
  bool told = true;  // false: a guess
};

// Of the i-th cache. `may_hold`: bytes of one such cache at most; `chase`: the latency curve.
Sharing sharing_of(const Observations& all, size_t i, double may_hold, std::span<const CurvePoint> chase);

}  // namespace assay::probe
