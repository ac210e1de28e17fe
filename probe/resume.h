// Whether a probe may go on with what an earlier one left, and what of it is done again: values of
// two devices, two drivers or two versions of the experiments do not belong into one profile.
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

// What the device and its driver say of themselves, now and then. What one of both does not say is
// not compared.
Diags check_same_driver(const Observations& earlier, const Observations& now,
                        const std::string& directory);

// The experiments that are to be done again although they were done: something that they need had
// failed then, or was not there, and defaults took its place. `asked_for`: what is to be measured
// now.
std::vector<std::string> stale(const Observations& earlier, std::span<const Experiment> table,
                               const std::vector<std::string>& asked_for);

}  // namespace assay::probe
