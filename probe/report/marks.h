// What the profile says, drawn into the charts of the samples it was inferred from.
#pragma once

#include "probe/report/chart.h"

namespace assay::probe {

void mark_levels(const Source& source, Chart& to);       // plateaus, knees and capacities
void mark_line(const Source& source, Chart& to);         // the cache line
void mark_tlb(const Source& source, Chart& to);          // entries of each level of translation
void mark_rows(const Source& source, Chart& to);         // rows of which some miss the second
void mark_cyclic_scan(const Source& source, Chart& to);  // what caches hold of streamed data
void mark_loaded(
    const Source& source,
    Chart& to);  // latency against what others reach beside it, in place of the raw times
void mark_power_mean(const Source& source, Chart& to);  // the fitted law of units

}  // namespace assay::probe
