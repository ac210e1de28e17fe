// The estimate of a compiled model, or of one program, on a profile. Nothing is compiled and no
// device is touched.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "ir/plan.h"
#include "model/estimate.h"
#include "support/result.h"

namespace assay::toolkit {

using Estimate = model::Estimate;

struct Simulation {
  std::string name, profile, api;
  std::vector<std::string> steps;    // names
  std::vector<std::string> labels;   // of the steps, for tables
  std::vector<std::string> classes;  // of each step's program; see calibration.h
  std::vector<Estimate> estimates;   // per step
  Estimate total;
  Diags notes;  // why no kernel of the program could run there; its counts are closed forms then
};

struct SimulateOptions {
  std::string api;        // of the profile; "": its first
  bool cold = false;      // of a program: the caches hold nothing of it; else it ran just before
  bool recorded = false;  // one launch of all kernels, recorded as a graph: launch.graph for each
};

// `path`: a bundle's directory, a plan.yaml, or a program's YAML. Errors: unreadable; not a plan or
// program; a profile without what predicting needs; `recorded` where a plan runs within one launch,
// or where launch.graph is unknown.
Result<Simulation> simulate(const std::string& path, const hwdesc::Profile& profile,
                            const SimulateOptions& options);

// A plan whose launches are recorded, by the host's clock: a launch that is waited for takes longer
// than one in a stream, which is added once. Errors: those of simulate.
Result<Estimate> recorded_total(const ir::Plan& plan, const hwdesc::Profile& profile,
                                const std::string& api);

// Every term of an estimate, as text: what `--explain` prints.
std::string explanation(const Estimate& estimate);

// A bundle's own profile. Errors: no bundle there.
Result<hwdesc::Profile> profile_of_bundle(const std::string& directory);

}  // namespace assay::toolkit
