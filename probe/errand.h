// What a worker of the probe does: opens the device, loads the kernels of one experiment, runs it,
// and says how long each took.
#pragma once

#include <string>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/observation.h"
#include "probe/probe.h"
#include "probe/sampling/worker.h"

namespace assay::probe {

// Facts by experiment: "0.31 s, one round 0.8 s".
inline constexpr const char* kLoading = "loading.";
// A fact: how many kernels each experiment is the first to load, "checks 11, clock 9".
inline constexpr const char* kKernels = "kernels";

struct Errand {
  const std::string& device;
  const ProbeOptions& options;
  const Observations& earlier;
  const Experiment& experiment;
  double share = 0;  // s of measuring
  double limit = 0;  // steady clock: the first round may not take longer
  int rounds = 0;    // of a simulated device; 0: by the clock
};

// Returns "", or throws why it failed.
std::string run_errand(const Errand& errand, const Send& send);

// The kernels of the checks; the others are built when an experiment needs them. Sends what the
// device says of itself, and why it can not be opened.
std::string load_first_kernels(const std::string& device, const std::string& cache_dir,
                               std::vector<hwdesc::NamedText> forms, const Send& send);

}  // namespace assay::probe
