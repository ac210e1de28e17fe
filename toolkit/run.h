// Running a bundle: inputs, outputs, times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/result.h"
#include "toolkit/bundle.h"
#include "toolkit/host_state.h"
#include "toolkit/progress.h"

namespace assay::toolkit {

using Values = std::vector<std::vector<float>>;  // per tensor, row-major

// Inputs by position of Graph::inputs: uniform in (-1, 1), the generator of
// examples/models/counter_rng.py under the name "input/<tensor>".
Values generate_inputs(const ir::Graph& graph, uint64_t seed);

// Raw little-endian float32, all inputs (outputs) one after the other. Errors: unreadable, another
// size than the model's.
Result<Values> read_inputs(const ir::Graph& graph, const std::string& path);
Result<Values> read_outputs(const ir::Graph& graph, const std::string& path);

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
  bool recorded = false;  // and once more with all launches recorded and handed over as one
  bool guarded = false;   // zones around every buffer, checked after every run
  int patience = 5;  // s: timed runs are taken again for so long, while others disturb them or the
                     // device is not as it was probed
  std::string cache_dir;  // of built kernels; "": the runtime's choice
  Progress progress;
  const CancelToken* cancel = nullptr;
};

struct RunResult {
  std::string device;        // id and what people call it
  Values outputs;            // by position of Graph::outputs, of the first run
  std::vector<Times> steps;  // per step of the plan, over the repeats
  Times total;
  std::optional<Times> recorded;  // the total where launches are recorded
  double kept_waiting = 0;        // by other programs: the share of the timed runs; more than a few
                                  // hundredths is said in notes, too
  std::optional<AsProbed>
      as_probed;       // around the timed runs; what differs is said in notes, too. nullopt: nobody
                       // probed it, or none of such a device is known
  int batches = 1;     // of timed runs, of which the least disturbed one counts
  double build_s = 0;  // the kernel compiler, this time; 0: from the cache
  Diags notes;         // warnings
};

// The first run starts from a poisoned arena and gives the outputs; then `warm_up` and `repeat`
// timed runs, again and again until nobody disturbs them and the device does what its profile says,
// or patience is at an end. Errors: what place() says, cancelled, a guard zone that was written to;
// launches to be recorded where the device has no way to, or whose results then differ.
Result<RunResult> run_bundle(const Bundle& bundle, const Values& inputs, const RunOptions& options);

}  // namespace assay::toolkit
