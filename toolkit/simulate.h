// What a compiled model, or one program, would cost on a profile: nothing is compiled and no device
// is touched.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "ir/plan.h"
#include "model/estimate.h"
#include "support/result.h"

namespace assay::toolkit {

struct Simulation {
  std::string name, profile, api;
  std::vector<std::string> steps;          // names
  std::vector<std::string> classes;        // of each step's program, as calibrations have them
  std::vector<model::Estimate> estimates;  // per step
  model::Estimate total;
  Diags notes;  // why no kernel of the program could run there: its counts are closed forms
};

struct SimulateOptions {
  std::string api;        // of the profile; "": its first
  bool cold = false;      // one program: caches hold nothing of it; else it ran just before
  bool recorded = false;  // launches are recorded and handed over as one: each takes launch.graph
};

// `path`: a bundle's directory, a plan.yaml, or a program's YAML. Errors: unreadable, not a plan or
// program, a profile without what predicting needs; to be recorded where a plan runs within one
// launch, or launch.graph is unknown.
Result<Simulation> simulate(const std::string& path, const hwdesc::Profile& profile,
                            const SimulateOptions& options);

// A plan whose launches are recorded, by the host's clock: what one launch that is waited for takes
// more than one in a stream comes once on top. Errors: as simulate.
Result<model::Estimate> recorded_total(const ir::Plan& plan, const hwdesc::Profile& profile,
                                       const std::string& api);

// A bundle's own profile. Errors: no bundle there.
Result<hwdesc::Profile> profile_of_bundle(const std::string& directory);

}  // namespace assay::toolkit
