// What of a probe counts, and what a profile says, in words, of how it was measured: times of the
// device that were not believed (sampling/belief.h), and experiments that did not come to their
// end.
#pragma once

#include <string>

#include "probe/observation.h"

namespace assay::probe {

// Without what experiments left that never ended well: half a curve looks like a whole one of
// another chip. Where no experiment has ended, everything.
Observations whole(Observations all);

// What inference goes by, and experiments that come later: `whole`, with sentinels in ticks
// (ticks.h), and of a GPU nothing disturbed, since processes of the host do not hold its units.
Observations evidence(const Observations& raw);

// "" when there was nothing to doubt; else what was taken again, and which experiments ended for
// it.
std::string doubts_of(const Observations& all);

// "chase: ended by signal 6 (Aborted); far: ...": what did not end well and was not made good. "":
// nothing.
std::string unfinished(const Observations& all);

}  // namespace assay::probe
