// Vector widths or waves, and registers: what a unit has before any operation runs. Internal to
// compute.cpp.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// The widths that pay, or the width of a wave.
void add_lanes(const Observations& all, const Known& known, hwdesc::Profile& to);

// Vector registers, by what a compiler keeps off the stack, and what a spill costs. Registers of
// threads are inferred from residency (infer_residency).
void add_registers(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
