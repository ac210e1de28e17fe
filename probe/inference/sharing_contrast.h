// Is a cache shared or private? Units chase concurrently, each through W bytes of its own. With t
// the latency curve of one unit, they take
//
//     t(units W)   if one cache is shared: as one unit alone through all of their bytes
//
//     t(W)         if each has a cache of its own: as one unit alone through its own bytes
//
// Beyond the knee of what one may hold the two certainly differ. Where the knee is wide (random
// replacement, hashed sets) no such W leaves one unit alone undisturbed. Then the curve says where
// they differ enough.
#pragma once

#include <span>

#include "probe/inference/knee.h"

namespace assay::probe {

// t(units W) / t(W) from which on the answer is certain.
inline constexpr double kCertainContrast = 1.4;
// Least ratio of all units' time to one unit's that shows a shared cache.
inline constexpr double kCrowded = 1.2;

// t(units W) / t(W). `chase`: ascending bytes; 1 without a curve.
double sharing_contrast(std::span<const CurvePoint> chase, double bytes, int units);

// W for a cache of this knee. One such cache surely holds it, and not what all units have of it,
// with as much room on either side. Where the knee is too wide, the least footprint with a contrast
// of 2, or the one with the greatest. Without a curve, 0.7 of the least that it may hold.
double sharing_footprint(const KneePoint& knee, std::span<const CurvePoint> chase, int units);

// Of a hop of one unit. Infinite without a curve.
double alone_time(std::span<const CurvePoint> chase, double bytes);

// The longest time of a hop that still is that of bytes which hit: not much above the curve there,
// or nearer to it than to the curve at the bytes of all units. A longer one was disturbed, or
// shared the cache. Infinite without a curve.
double longest_of_hits(std::span<const CurvePoint> chase, double bytes, int units);

}  // namespace assay::probe
