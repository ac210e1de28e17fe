// Schedules in time, for Perfetto and other readers of the Trace Event Format: a track per unit,
// a slice per group range, wait, barrier and idle time, and counters of traffic.
// Source: "Trace Event Format" (Chromium), JSON object form; times in microseconds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "model/estimate.h"
#include "runtime/device.h"
#include "simulator/estimate.h"
#include "support/result.h"
#include "toolkit/bundle.h"

namespace assay::toolkit {

struct TraceSlice {
  int unit = 0;
  std::string name;           // the step's label, `barrier`, `wait for ...`, `idle`
  double begin = 0, end = 0;  // s
  int step = -1;              // of a run; -1: none
  int64_t first_group = 0, last_group = 0;
};

// Slices of one unit follow each other; what lies between is idle time, named so.
std::vector<TraceSlice> slices_of(const ir::Plan& plan, std::span<const simulator::Slice> slices);
std::vector<TraceSlice> slices_of(const ir::Plan& plan, std::span<const runtime::Slice> slices);

struct TraceProcess {
  std::string name;  // `predicted, PROFILE`
  std::vector<TraceSlice> slices;
  std::vector<model::Estimate> estimates;  // per step, for counters of traffic; empty: none
};

// Of a bundle on its own profile. Errors: a profile without what predicting needs.
Result<TraceProcess> predicted_trace(const Bundle& bundle);

// The file's text. Processes are numbered from 1 on; a unit is a thread of its process.
std::string print_trace(std::span<const TraceProcess> processes);

}  // namespace assay::toolkit
