// Measuring a device: experiments (what to run), inference (curves -> values), journal (raw
// samples, kept at once). Returns a full profile and the raw observations.
//
//   budget      wall time, kernels and inference included. Experiments have shares by weight; each
//               repeats rounds over its points until its share is used. What does not fit is left
//               out, the least useful first (schedule.h): `unknown: budget`.
//   isolation   every experiment is a child process with a time limit (sampling/worker.h)
//   resume      experiments that the journal has as done are skipped. The others run again with
//               their own shares; their earlier samples still count.
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

// Seconds: every experiment at its full weight; three minutes with everything around it.
inline constexpr double kFullBudget = 165;
// Seconds; times forty on simulated devices, whose time is not ours.
inline constexpr double kPatience = 15;

// Called in the worker after every block of samples, to add samples of the caller's.
using Beside = std::function<void(const Observation& block,
                                  const std::function<void(const Observation&)>& keep)>;

// Called in each worker before its experiment begins.
using Before = std::function<void()>;

struct ProbeOptions {
  double budget_s = 40;      // wall time of everything
  std::string observations;  // directory of the journal; "": nothing is kept
  // Continue that journal; else a new one begins, and an earlier one is kept beside it.
  bool resume = false;
  // Experiments to run, or topics of them (experiments/selection.h); empty: all.
  std::vector<std::string> only;
  // Largest buffer; at most an eighth of the memory is used.
  int64_t max_bytes = int64_t{512} << 20;
  // Seconds beyond three times its share, until an experiment counts as hung; else kPatience.
  std::optional<double> patience_s;
  std::string cache_dir;       // of built kernels; "": the runtime's own
  Before before;               // may be empty
  Beside beside;               // not used by inference; may be empty
  runtime::Progress progress;  // in thousandths of the budget, with the time left; may be empty
  const runtime::CancelToken* cancel = nullptr;
};

struct ProbeResult {
  hwdesc::Profile profile;
  Observations observations;
  Diags warnings;                     // experiments that failed
  std::vector<std::string> left_out;  // since the budget did not suffice: unknown
  double seconds = 0;                 // of the experiments, building their kernels included
  double build_seconds = 0;           // of the first kernels
};

// Errors: no such device; `only` names no experiment; no kernels could be built; the executed
// counts are wrong; cancelled (the journal is kept); the journal can not be written, or is that of
// another device, driver or version of Assay.
//
// The device is named, not passed: drivers keep threads, which a fork does not copy, so only the
// children open it.
Result<ProbeResult> probe(const std::string& device, const ProbeOptions& options);

// The same inference from a journal, without a device. Errors: no journal there, or a wrong one.
Diags check_experiments(const std::vector<std::string>& only);

// The same inference from a journal, without a device. Errors: no journal there, or a wrong one.
Result<ProbeResult> infer_from(const std::string& observations);

}  // namespace assay::probe
