// Units that chase at once, each through W bytes of its own, tell one cache of all from a cache of
// each:
//     one cache of all    they take as long as one alone through all of their bytes,  t(units W)
//     a cache of each     as one alone through its own,                               t(W)
// with t the latency curve of one unit. Beyond the knee of what one may hold the two are certain to
// differ; where the knee is wide (lines leave at random, sets are hashed) no such W leaves one unit
// alone undisturbed, and the curve says where they differ enough.
#pragma once

#include <span>

#include "probe/inference/knee.h"

namespace assay::probe {

inline constexpr double kTold = 1.4;  // t(units W) / t(W) from which on the answer is certain

// t(units W) / t(W). `chase`: ascending bytes; 1 without a curve.
double told_apart(std::span<const CurvePoint> chase, double bytes, int units);

// W for a cache of this knee: more than one such cache holds, or else the least footprint that
// tells the two apart by 2, or the one that tells them apart most. Without a curve, 0.7 of the
// least that it may hold.
double crowding(const KneePoint& knee, std::span<const CurvePoint> chase, int units);

}  // namespace assay::probe
