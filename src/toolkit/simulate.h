// What a compiled model, or one program, would cost on a profile: nothing is compiled and no device
// is touched.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hwdesc/profile.h"
#include "model/estimate.h"

namespace assay::toolkit {

struct Simulation {
  std::string name, profile, api;
  std::vector<std::string> steps;          // names
  std::vector<std::string> classes;        // of each step's program, as calibrations have them
  std::vector<model::Estimate> estimates;  // per step
  model::Estimate total;
};

struct SimulateOptions {
  std::string api;    // of the profile; "": its first
  bool cold = false;  // one program: caches hold nothing of it; else it ran just before
};

// `path`: a bundle's directory, a plan.yaml, or a program's YAML. Errors: unreadable, not a plan or
// program, a profile without what predicting needs.
Result<Simulation> simulate(const std::string& path, const hwdesc::Profile& profile,
                            const SimulateOptions& options);

// A bundle's own profile. Errors: no bundle there.
Result<hwdesc::Profile> profile_of_bundle(const std::string& directory);

}  // namespace assay::toolkit
