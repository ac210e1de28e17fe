// What is moved at once, from the experiment `transfer`. Pure.
//
//   unit of transfer   two touches a distance apart, the first of which the level serves: the
//   second one costs nothing up to
//                      what was brought along. The nearest distance at which it costs half a
//                      level's step is the unit.
//   line               what is kept together: nodes a stride apart miss, however many lines they
//   would be, as long as the
//                      stride is no longer than a line; at twice a line half of the lines are left,
//                      and they hit.
//   across             vectors that lie across lines take so many times the pipe's time of those
//   that do not.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// `level`: position in known.levels. Unknown says why.
hwdesc::Value<hwdesc::Bytes> transaction_of(const Observations& all, const Known& known,
                                            size_t level);
hwdesc::Value<hwdesc::Bytes> line_of(const Observations& all, const Known& known, size_t level);
// The same; of a level whose line was not told, that of the one before, which asks it.
hwdesc::Value<hwdesc::Bytes> line_told(const Observations& all, const Known& known, size_t level);
void add_across(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
