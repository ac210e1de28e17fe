// Options of commands that read a model or an operator.
#pragma once

#include <string>
#include <vector>

#include "cli/console/options.h"
#include "support/diag.h"
#include "toolkit/compile.h"
#include "toolkit/estimate_operators.h"

namespace assay::cli {

struct ModelShapes {
  std::vector<std::string> dims, shapes;  // as typed
};

void declare_shapes(console::Options& options, ModelShapes& to);

// Errors: what is no dimension or shape, or given twice.
Diags read_shapes(const ModelShapes& typed, toolkit::CompileOptions& out);

// Of commands that estimate operators or models.
struct EstimateWords {
  std::string model, op, profile, software, type, launch, caches;  // as typed; "": not given
  std::string api;
  std::vector<std::string> overrides;
  ModelShapes shapes;
};

void declare_estimate(console::Options& options, EstimateWords& to);

// Pre: what one_of refuses was refused.
toolkit::EstimateOptions options_of(const EstimateWords& words);

// A profile with its overrides.
Result<hwdesc::Profile> profile_of(const std::string& name,
                                   const std::vector<std::string>& overrides);

// Why the device can not run kernels of the profile's api; none where the profile itself is at
// fault, which whoever uses it reports.
Diags device_fault(const hwdesc::Profile& profile, const std::string& api,
                   const std::string& device);

// The help of `--op`: an example and the operators' names, in lines as long as the help's others.
std::string operator_help();

}  // namespace assay::cli
