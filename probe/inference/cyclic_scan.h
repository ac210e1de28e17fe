// How much of a cyclic scan each cache holds, from a sweep: all units read, each its own part, in
// seconds per byte by the bytes of one part.
//
// A chase gives other sizes. It waits for every hop, so translation and co-tenants show in it long
// before lines are evicted. A scan that a prefetcher follows slows down only as lines come from
// farther out. With t the isotonic curve, t_here the level's own plateau and t_next that of the
// level behind it, the part that is held is
//
//     h(W) = (t_next - t(W)) / (t_next - t_here)
//
// A plateau is the flattest octave between the capacity of the level before and the level's own.
// Behind the last cache it is the last point of the sweep, far beyond all of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/knee.h"

namespace assay::probe {

inline constexpr double kVisibleStep = 1.25;  // least t_next / t_here that shows an edge

struct Sweep {
  // Seconds per byte of all units together by bytes of one part, ascending.
  std::vector<CurvePoint> curve;
  double units = 1;  // parts
  // Of two units, neither found the other's bytes in the last cache: each part had a last cache of
  // its own.
  bool cross_die = false;
};

// The experiment's sweeps as one; without points where it did not run.
Sweep sweep_of(const Observations& all);

// One sweep per run of the experiment, since co-tenants come and go and far memory's speed changes.
// Reads beyond all caches after each footprint show that speed: where it changed within a run, the
// run is two sweeps. No footprint takes longer than most of these reads.
std::vector<Sweep> sweeps_of(const Observations& all);

// Of neighbouring footprints' ratio (segment.h): a disturbed sweep shows steps of its own.
double noise_in(const Sweep& sweep);

// The isotonic curve.
std::vector<CurvePoint> rising(std::span<const CurvePoint> curve);

// Seconds at a footprint: linear between samples in logarithms of both, constant beyond either end.
double time_at(std::span<const CurvePoint> curve, double bytes);

// Seconds per byte on the plateau of each of `memory` (near to far, capacities known; far memory
// behind the last cache). 0: neither a cache nor far memory, or a cache that the sweep does not
// exceed.
std::vector<double> plateau_times(std::span<const hwdesc::MemoryLevel> memory, const Sweep& sweep);

// Fills `cyclic_scan` of the caches among `memory`, from the sweeps that show an edge, and of these
// from the steady ones if there are any. Each point of the hit curve is the median over sweeps. A
// point that no sweep shows becomes unknown, with why.
void add_cyclic_scan(std::vector<hwdesc::MemoryLevel>& memory, std::span<const Sweep> sweeps);

// Capacity of a cache that units or co-tenants share. A chase waits for every line, so co-tenants
// evict many of its lines; all units streaming keep theirs. So the capacity becomes
// `cyclic_scan.from`, since where half hits depends on replacement and on far memory. If the
// declared size `nominal` (0: none) is close to that, it is used.
void settle_shared_capacity(hwdesc::MemoryLevel& l, double nominal);

// Parts that are held at `from`, `middle` and `to`.
inline constexpr double kMostHits = 0.9, kHalfHits = 0.5, kFewHits = 0.1;

struct PlateauTimes {
  double here = 0, next = 0;  // seconds per byte, of the level and of the one behind it
  double parts = 1;           // of the sweep in one instance of the cache
};

// The hit curve of a rising curve of times, in bytes of one instance. Intervals are those of the
// neighbouring footprints. What the curve does not reach is unknown, with why.
hwdesc::HitCurve inferred_hit_curve(std::span<const CurvePoint> curve, const PlateauTimes& e,
                                    const std::string& method);

}  // namespace assay::probe
