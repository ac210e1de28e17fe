// The reference page of the profile format (docs/profile.md), generated from the field table: every
// field with its path, type, unit, whether it is required, and its meaning. `example` gives a
// sample of each part.
#pragma once

#include <string>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

// The profile of the library that gives every field a value.
inline constexpr const char* kReferenceExample = "hypothetical/every-field";

std::string reference_page(const Profile& example);

}  // namespace assay::hwdesc
