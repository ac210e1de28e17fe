// The profiles that came with this build (hw_profiles/<vendor>/<chip>/profile.yaml), by chip name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::toolkit {

std::string_view library_text(std::string_view name);   // empty: there is none of that name
std::vector<std::string> library_names();               // sorted

}  // namespace assay::toolkit
