// Observations -> profile: pure functions, so that a profile can be inferred again from recorded
// curves, without the device. What the observations can not decide becomes `unknown`, with why.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/inference/stats.h"
#include "probe/observation.h"
#include "support/result.h"

namespace assay::probe {

// Errors: nothing to infer from (no clock and no curve).
Result<hwdesc::Profile> infer(const Observations& all);

// Parts, one file each, which fill in their own fields:
// identity, clocks, units, apis, tlb;
void infer_machine(const Observations& all, const Known& known, hwdesc::Profile& to);
// lanes, registers, issue, pipes, operations;
void infer_compute(const Observations& all, const Known& known, hwdesc::Profile& to);
// operations on other types than f32;
void infer_types(const Observations& all, const Known& known, hwdesc::Profile& to);
// loads and stores that convert;
void infer_conversions(const Observations& all, const Known& known, hwdesc::Profile& to);
// the fastest form of each operation;
void infer_forms(const Observations& all, hwdesc::Profile& to);
// matrix instructions;
void infer_matrix(const Observations& all, const Known& known, hwdesc::Profile& to);
// atomic additions;
void infer_atomics(const Observations& all, const Known& known, hwdesc::Profile& to);
// occupancy, registers of threads;
void infer_residency(const Observations& all, const Known& known, hwdesc::Profile& to);
// wave width, by divergent branches; barriers of a group;
void infer_branches(const Observations& all, const Known& known, hwdesc::Profile& to);
// barriers among groups;
void infer_barrier(const Observations& all, const Known& known, hwdesc::Profile& to);
// how much code runs at full speed;
void infer_code(const Observations& all, hwdesc::Profile& to);
// power and energy;
void infer_power(const Observations& all, hwdesc::Profile& to);
// levels near to far.
void infer_memory(const Observations& all, const Known& known, hwdesc::Profile& to);

// The clock in which rates and latencies are counted: the one under multiply-adds, or the
// sentinel's, or seconds.
double ticks_per_second(const Observations& all, const Known& known, const Summary& s);

// The usual name of level i of n: l1, l2, ..., dram.
std::string level_name(size_t i, size_t n);

}  // namespace assay::probe
