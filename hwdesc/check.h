// What a well-formed profile can still get wrong: names that are declared nowhere, sizes that are
// not positive, intervals that do not hold their value, far memory counted in cycles.
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

// Faults (errors) and implausible values (warnings), in table order.
std::vector<Finding> inconsistencies(const Profile& profile);

// What predicting needs and the profile does not know: clocks.core, topology.unit, an f32 fma, one
// memory. A probe that could not decide may leave such a profile; it parses and shows, no more.
std::vector<Finding> missing_for_prediction(const Profile& profile);

// Both, as messages without a place in a file.
Diags check(const Profile& profile);

Diag to_diag(const Finding& finding);

}  // namespace assay::hwdesc
