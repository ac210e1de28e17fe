// What a tick is. A core with queues of its own runs the sentinel's additions one per tick. Where
// lanes are threads an addition takes several ticks, and only the driver's clock says how many.
#pragma once

#include "probe/observation.h"

namespace assay::probe {

// The same observations with every sentinel in ticks of the device's clock. Where that is not known
// they have none, and times stay times: no cycles are invented.
Observations with_ticks(Observations all);

}  // namespace assay::probe
