// The reference page of the profile format (docs/profile.md): every field with its path, type,
// unit, whether it must be there, and its sentence, written from the field table; and what each
// part looks like in a profile, taken from `example`.
#pragma once

#include <string>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

// The profile of the library that gives every field a value.
inline constexpr const char* kReferenceExample = "hypothetical/every-field";

std::string reference_page(const Profile& example);

}  // namespace assay::hwdesc
