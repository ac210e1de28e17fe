// Measuring a device: experiments (what to run), inference (curves -> values), journal (what was
// seen, kept as it comes). Returns a full profile and the raw observations.
//
//   budget      shared out to the experiments by their weight; each takes rounds over its points
//               until its share is used. Building the kernels is not counted.
//   isolation   every experiment is a child process with a time limit (sampling/worker.h)
//   resume      experiments the journal calls done are skipped; the others run again in their own
//   shares, and
//               what they left before they were cut off still counts
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/observation.h"
#include "runtime/device.h"
#include "support/result.h"

namespace assay::probe {

inline constexpr double kFullBudget =
    165;  // seconds: every experiment at its full weight; three minutes with all that is around it
inline constexpr double kPatience =
    15;  // seconds; of simulated devices, whose time is not ours, forty times that

// Called in the worker behind every block of samples, to take some of one's own that are kept
// beside them.
using Beside = std::function<void(const Observation& block,
                                  const std::function<void(const Observation&)>& keep)>;

// Called in each worker before its experiment begins.
using Before = std::function<void()>;

struct ProbeOptions {
  double budget_s =
      40;  // wall time of all experiments together; beyond 40 s also of building kernels
  std::string observations;  // directory of the journal; "": nothing is kept
  bool resume =
      false;  // go on from that journal; else one is begun, and an earlier one kept beside it
  std::vector<std::string>
      only;  // experiments to run, or topics of them (experiments/asked.h); empty: all
  int64_t max_bytes = int64_t{512}
                      << 20;         // largest buffer; at most an eighth of the memory is used
  std::optional<double> patience_s;  // beyond three times its share, until an experiment counts as
                                     // hung; else kPatience
  std::string cache_dir;             // of built kernels; "": the runtime's own
  Before before;                     // may be empty
  Beside beside;                     // inference knows nothing of it; may be empty
  runtime::Progress progress;  // in thousandths of the budget, with the time left; may be empty
  const runtime::CancelToken* cancel = nullptr;
};

struct ProbeResult {
  hwdesc::Profile profile;
  Observations observations;
  Diags warnings;      // experiments that did not end well
  double seconds = 0;  // of the experiments
  double build_seconds = 0;
};

// Errors: no such device; `only` names no experiment; no kernels could be built; the executed
// counts are wrong; cancelled (the journal is kept); the journal can not be written, or is that of
// another device, driver or version of Assay.
//
// The device is named, not passed: drivers keep threads, which a fork does not copy, so only the
// children open it.
Result<ProbeResult> probe(const std::string& device, const ProbeOptions& options);

// The same inference from a journal, without a device. Errors: no journal there, or a wrong one.
Result<ProbeResult> infer_from(const std::string& observations);

}  // namespace assay::probe
