// Observations -> profile: pure functions, so that a profile can be inferred again from recorded
// curves, without the device. What the observations can not decide becomes `unknown`, with why.
#pragma once

#include "base/result.h"
#include "hwdesc/profile.h"
#include "probe/known.h"
#include "probe/observation.h"

namespace assay::probe {

// Errors: nothing to infer from (no clock and no curve).
Result<hwdesc::Profile> infer(const Observations& all);

// Parts, one file each; they fill in what they are about.
// identity, clocks, units, apis, tlb
void infer_machine(const Observations& all, const Known& known, hwdesc::Profile& to);
// lanes, registers, issue, pipes, operations
void infer_compute(const Observations& all, const Known& known, hwdesc::Profile& to);
// levels near to far
void infer_memory(const Observations& all, const Known& known, hwdesc::Profile& to);

// The usual name of level i of n: l1, l2, ..., dram.
std::string level_name(size_t i, size_t n);

}  // namespace assay::probe
