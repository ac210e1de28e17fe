// Hit rate of a cache, by the footprint that is scanned again and again.
//
// Under strict LRU a cache would hold all or nothing. Measured, the hit rate falls over a range of
// sizes: pages map to sets unevenly, policies only approximate LRU, co-tenants take their part. A
// Level has three points of that range, `capacity`, `middle` and `end`. Between them the rate falls
// with the logarithm of the size. The points come from a cyclic scan where the profile has one,
// since programs stream. Else they come from the knee of a chase, which translation and co-tenants
// shift to smaller sizes.
#pragma once

#include "model/machine.h"

namespace assay::model {

// The part of `bytes` that an instance of the cache holds, 0 to 1, falling: 1 up to `capacity`,
// `middle_hits` at `middle` where that lies between, 0 from `end` bytes on. `end`: the level's own,
// or more where conflict misses delay it.
double hit_fraction(const Level& cache, double bytes, double end);
double hit_fraction(const HitCurve& f, double bytes);

// The part of some data that is held after `touched` bytes, itself included, of which `missed` were
// filled since: the hit rate of a cyclic scan with as many misses. Exact under random replacement;
// LRU would keep all, then nothing. Hits evict nothing. `foreign` bytes of co-tenants count as
// touched.
double retained_after(const Level& cache, double missed, double touched, double foreign,
                      double end);

}  // namespace assay::model
