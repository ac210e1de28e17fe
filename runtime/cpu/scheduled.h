// Units that work through queues of their own, with counters and barriers where a schedule has them
// (Rammer, OSDI'20, section 3).
#pragma once

#include <span>

#include "runtime/cpu/launches.h"

namespace assay::runtime::cpu {

// A barrier stands before each repeat. A repeat lasts from the latest arrival there to the latest
// arrival at the next one. Errors: those of resolve_calls; commands of other units, launches or
// groups than there are; a unit that would wait for ever; cancelled. Pre: options.schedule is not
// empty.
Result<RunTimes> run_schedule(Pool& pool, std::span<const Launch> launches,
                              std::span<const LoadedKernel> kernels,
                              std::span<const Memory> buffers, std::span<const Memory> scratch,
                              const RunOptions& options);

}  // namespace assay::runtime::cpu
