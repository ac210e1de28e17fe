// A profile with what a simulated chip does where the profile says nothing: what a probe of that
// chip is judged by.
#pragma once

#include <string>

#include "hwdesc/profile.h"

namespace assay::probe::testing {

// What the profile knows stays as it is; memories that plain loads do not reach, and those of no
// use to kernels, go. `effects`: lines of an assay/virtual/1, of those that change what a level
// does.
hwdesc::Profile completed(hwdesc::Profile profile, const std::string& effects = "");

}  // namespace assay::probe::testing
