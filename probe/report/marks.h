// Values of the profile, drawn into the charts of their samples.
#pragma once

#include "probe/report/chart.h"

namespace assay::probe {

void mark_levels(const Source& source, Chart& to);  // plateaus, knees and capacities
void mark_line(const Source& source, Chart& to);    // the cache line
void mark_tlb(const Source& source, Chart& to);     // entries of each TLB level
// The range of rows in which the second level begins to miss.
void mark_rows(const Source& source, Chart& to);
void mark_cyclic_scan(const Source& source, Chart& to);  // hit curves of caches
void mark_loaded(
    const Source& source,
    Chart& to);  // latency against the bandwidth of the others, replacing the raw times
void mark_power_mean(const Source& source, Chart& to);  // the fitted power mean over units

}  // namespace assay::probe
