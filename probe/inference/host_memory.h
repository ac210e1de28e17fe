// The host's memory as a device reaches it, from the experiment `host`: bandwidth from the largest
// copy, latency from the smallest. Pure.
#pragma once

#include <optional>

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

// Time to map the smallest buffer; the note has the largest. Unknown where nothing is mapped.
hwdesc::Value<hwdesc::Seconds> map_time(const Observations& all);

// nullopt: not measured.
std::optional<hwdesc::MemoryLevel> host_memory(const Observations& all);

}  // namespace assay::probe
