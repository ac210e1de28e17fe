// Which observations of a probe count, and what a profile says in words of how it was measured:
// device times that were not plausible (sampling/belief.h), and experiments that did not finish.
#pragma once

#include <string>

#include "probe/observation.h"

namespace assay::probe {

// Without those of experiments that never finished: half a curve looks like a whole one of another
// chip. Where no experiment has finished, everything.
Observations finished_only(Observations all);

// What inference and later experiments use: `finished_only`, with sentinels in ticks (ticks.h). Of
// a GPU nothing is disturbed, since processes of the host do not occupy its units.
Observations usable_observations(const Observations& raw);

// What was measured again, and which experiments stopped because of it. "": nothing.
std::string doubts_of(const Observations& all);

// "chase: ended by signal 6 (Aborted); far: ...": what did not finish and was not repeated. "":
// nothing.
std::string unfinished(const Observations& all);

}  // namespace assay::probe
