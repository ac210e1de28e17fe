// How much of data that is read from end to end again and again each cache still holds, from a
// sweep: all units reading, each its own part, seconds per byte by the bytes of one part.
//
// A chase gives other sizes: it waits for every hop, so that translation and whoever shares a cache
// show in it long before lines are lost, while a walk that a prefetcher follows slows down only as
// lines come from farther out. With t the isotonic curve, here a level's own plateau and next that
// of the level behind it, the part still held is
//     h(W) = (t_next - t(W)) / (t_next - t_here)
// A plateau is the flattest octave between the level before's capacity and the level's own; behind
// the last cache it is the last point of the sweep, far beyond all of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/knee.h"

namespace assay::probe {

inline constexpr double kShows = 1.25;  // t_next / t_here of a level whose edge the sweep can tell

struct Sweep {
  std::vector<CurvePoint>
      curve;           // seconds per byte of all units together by bytes of one part, ascending
  double units = 1;    // parts
  bool apart = false;  // of two units, neither found the other's bytes in the last cache meanwhile:
                       // each part had one of its own
};

// Of the experiment `streamed`, all of it as one; without points where it did not run.
Sweep sweep_of(const Observations& all);

// Each time that it ran by itself: others come and go between them, and far memory is faster in one
// than in another. Where it became faster or slower while one ran, as what was read beyond all
// caches behind each footprint tells, that one is two: what was taken in either state. No footprint
// takes longer than most of those looks at far memory.
std::vector<Sweep> sweeps_of(const Observations& all);

// Of neighbouring footprints' ratio (segment.h): a sweep that others disturbed shows steps of its
// own.
double noise_in(const Sweep& sweep);

// The curve as it would be without noise that lets it fall.
std::vector<CurvePoint> rising(std::span<const CurvePoint> curve);

// Seconds at a footprint, between samples on a line in logarithms of both; beyond either end as at
// that end.
double time_at(std::span<const CurvePoint> curve, double bytes);

// Seconds per byte on the plateau of each of `memory` (near to far, capacities known; what is
// behind the last cache is far memory); 0 for what is neither a cache nor far memory, and for
// caches that the sweep does not reach beyond.
std::vector<double> plateau_times(std::span<const hwdesc::MemoryLevel> memory, const Sweep& sweep);

// Fills `streamed` of the caches among `memory`: of the sweeps that tell how much one holds, of the
// steady ones where there are any, what the one in the middle says counts, for each part that is
// still held by itself. What none can tell becomes unknown, with why.
void add_cyclic_scan(std::vector<hwdesc::MemoryLevel>& memory, std::span<const Sweep> sweeps);

// Of a cache that units, or others, share a chase, which waits for every line, finds what others
// leave of it at the time; all units streaming keep their lines there. Its capacity becomes what
// they nearly hold of their data (`streamed.from`): where half of it is held depends on how it
// replaces lines, and on what far memory takes at the time. Or the declared one, `nominal` (0:
// none), near that.
void settle_shared(hwdesc::MemoryLevel& l, double nominal);

inline constexpr double kMostHits = 0.9, kHalfHits = 0.5,
                        kFewHits = 0.1;  // of what is still held, at `from`, `middle`, `to`

struct Edge {
  double here = 0, next = 0;  // seconds per byte, of the level and of the one behind it
  double parts = 1;           // of the sweep in one instance of the cache
};

// Where nine tenths, half and a tenth of the data are still held by a rising curve, in bytes of one
// instance; intervals are those of the neighbouring footprints. Unknown, with why, what the curve
// does not reach.
hwdesc::HitCurve kept_hits(std::span<const CurvePoint> curve, const Edge& e,
                           const std::string& method);

}  // namespace assay::probe
