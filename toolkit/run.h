// Running a bundle: inputs, outputs, times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probe/as_probed.h"
#include "support/result.h"
#include "toolkit/bundle.h"
#include "toolkit/progress.h"
#include "toolkit/trace.h"

namespace assay::toolkit {

struct Placement;
using Values = std::vector<std::vector<float>>;  // per tensor, row-major

// Bit by bit, so that NaN equals NaN.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

// Inputs by position of Graph::inputs: uniform in what toolkit/input_ranges.h gives, by
// toolkit/counter_rng.h under the name "input/<tensor>".
Values generate_inputs(const ir::Graph& graph, uint64_t seed);

// Raw little-endian float32, one tensor after the other. Errors: unreadable, another size than the
// model's.
Result<Values> read_inputs(const ir::Graph& graph, const std::string& path);
Result<Values> read_outputs(const ir::Graph& graph, const std::string& path);

// The graph's inputs into the plan's tensors. Errors: the plan has no such tensor.
Diags write_inputs(const Placement& placement, const Bundle& bundle, const Values& inputs);

struct Times {
  double median = 0, low = 0, high = 0;  // seconds; low and high are quartiles
  bool operator==(const Times&) const = default;
};

// Quantiles by linear interpolation. Pre: samples is not empty.
Times times_of(std::vector<double> samples);

struct RunOptions {
  std::string device = "cpu:0";
  int repeat = 10;
  int warm_up = 1;
  bool recorded = false;  // also time one launch of all kernels, recorded as a graph
  bool traced = false;    // with RunResult::slices, where the device runs schedules
  bool guarded = false;   // guard zones around every buffer, checked after every run
  int patience = 5;       // s: time for repeating timed runs that were disturbed, or not as probed
  std::string cache_dir;  // of built kernels; "": the runtime's choice
  Progress progress;
  const CancelToken* cancel = nullptr;
};

struct RunResult {
  std::string device;  // id and name
  Values outputs;      // by position of Graph::outputs, of the first run
  // Per step of the plan, over the repeats; per phase where steps were launched together.
  std::vector<Times> steps;
  bool phased = false;
  std::vector<bool> left_out;  // per step, by its condition; empty: none
  Times total;
  std::vector<Times> transfers;   // of a plan that has some: uploads, downloads
  std::optional<Times> recorded;  // the total where launches are recorded
  // Share of the timed runs that other programs kept us waiting; above a few hundredths: a note.
  double kept_waiting = 0;
  // Per step, as runtime::RunTimes has them: empty where hardware ran.
  std::vector<std::vector<runtime::Crossing>> moved;
  // Before and after the timed runs, the worse of both; differences are notes. nullopt: the profile
  // was not probed, or the device's lanes are threads.
  std::optional<probe::AsProbed> as_probed;
  int batches = 1;                 // of timed runs; the least disturbed one counts
  std::vector<TraceSlice> slices;  // of the last timed run; empty: not asked for, or not known
  double build_s = 0;              // the kernel compiler, this time; 0: from the cache
  Diags notes;                     // warnings
};

// The first run starts from a poisoned arena and gives the outputs. Then batches of `warm_up` and
// `repeat` timed runs follow, until one is undisturbed and as probed, or patience has run out.
// Errors: those of place(); cancelled; a guard zone was written to; the device can not record
// launches, or their results differ when recorded.
Result<RunResult> run_bundle(const Bundle& bundle, const Values& inputs, const RunOptions& options);

}  // namespace assay::toolkit
