// What a cache still holds of data that is walked through again and again.
//
// A cache whose oldest line left first would hold all or nothing. Measured, a single-cycle walk loses its lines over a
// range of sizes: pages fall on sets unevenly, policies are not quite that, other guests of the machine take their part.
// The profile has three points of that range; between them the part falls with the logarithm of the size.
#pragma once

#include "model/machine.h"

namespace assay::model {

// The part of `bytes` that an instance of the cache still holds, 0 to 1: all up to `capacity`, `middle_held` at
// `knee_middle` where that is known, nothing from `end` bytes on.
double held(const Level& cache, double bytes, double end);

}  // namespace assay::model
