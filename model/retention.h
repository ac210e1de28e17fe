// What a cache still holds of data that is walked through again and again.
//
// A cache whose oldest line left first would hold all or nothing. Measured, it loses its lines over
// a range of sizes: pages fall on sets unevenly, policies are not quite that, other guests of the
// machine take their part. A Level has three points of that range, `capacity`, `middle` and `end`;
// between them the part falls with the logarithm of the size. They come from a sweep that streams
// as programs do where the profile has one (`streamed`), else from the knee of a chase, which
// translation and other guests push to smaller sizes.
#pragma once

#include "model/machine.h"

namespace assay::model {

// The part of `bytes` that an instance of the cache still holds, 0 to 1, falling: all up to
// `capacity`, `middle_hits` at `middle` where that lies between, nothing from `end` bytes on (the
// level's own, or later where other things delay it).
double hit_fraction(const Level& cache, double bytes, double end);
double hit_fraction(const HitCurve& f, double bytes);

// The part of data that is left behind `touched` bytes, itself among them, of which `missed` came
// into the cache since: as much as of a walk again and again whose own misses are so many. Exact
// where lines leave at random; a cache whose oldest line left first would keep all, then nothing.
// What fits drives out nothing. Others than the device brought in `foreign` bytes beside: as if so
// many more were touched.
double retained_behind(const Level& cache, double missed, double touched, double foreign,
                       double end);

}  // namespace assay::model
