// Units of transfer, from the experiment `transfer`. Pure.
//
//   transaction:  two touches at a distance, the first of which the level serves. The second one
//                 costs nothing where the first brought its bytes. The transaction is the nearest
//                 distance at which it costs half a level's step.
//
//   line:         nodes at a stride miss, however many lines they would be, while the stride is at
//                 most a line. At twice a line half of the lines are left, and they hit. Misses
//                 count where less than the cache holds hit directly afterwards.
//
//   straddling:   vectors that straddle lines take so many times the port's time of others.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// `level`: position in known.levels. Unknown says why.
hwdesc::Value<hwdesc::Bytes> transaction_of(const Observations& all, const Known& known,
                                            size_t level);
hwdesc::Value<hwdesc::Bytes> line_of(const Observations& all, const Known& known, size_t level);
// The same. Where a level's line is unknown, the nearer one's, which requests it.
hwdesc::Value<hwdesc::Bytes> line_or_nearer(const Observations& all, const Known& known,
                                            size_t level);
void add_straddling(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
