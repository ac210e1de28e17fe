// Checks of a well-formed profile: undeclared names, sizes that are not positive, intervals that do
// not hold their value, far memory counted in cycles.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "support/diag.h"

namespace assay::hwdesc {

struct Finding {
  Severity severity = Severity::error;
  std::string path;  // dotted place in the profile
  std::string message;
  std::string hint;
  bool operator==(const Finding&) const = default;
};

// Faults (errors) and doubtful forms (warnings), in table order.
std::vector<Finding> inconsistencies(const Profile& profile);

// What a prediction needs and the profile lacks: topology.unit, an f32 fma, one memory. A probe
// without a result may leave such a profile. It parses and prints, but predicts nothing. Without
// clocks.core it predicts, so that is a warning.
std::vector<Finding> missing_for_prediction(const Profile& profile);

// Both, and implausible values (plausible.h), as messages without a place in a file.
Diags check(const Profile& profile);

Diag to_diag(const Finding& finding);

}  // namespace assay::hwdesc
