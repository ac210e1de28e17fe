// Whether a probe may resume an earlier one, and which experiments run again. Values of two
// devices, drivers or versions of the experiments do not belong in one profile.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/observation.h"
#include "support/diag.h"

namespace assay::probe {

// Before the device is opened: its id, and our version. `directory` is that of the earlier journal.
Diags check_same_device(const Observations& earlier, const std::string& device,
                        const std::string& directory);

// What the device and its driver say of themselves, earlier and now. A fact missing in either is
// not compared.
Diags check_same_driver(const Observations& earlier, const Observations& now,
                        const std::string& directory);

// Experiments that run again although they are done: what they need had failed or was missing then,
// and defaults replaced it. `asked_for`: what is to be measured now.
std::vector<std::string> stale(const Observations& earlier, std::span<const Experiment> table,
                               const std::vector<std::string>& asked_for);

}  // namespace assay::probe
