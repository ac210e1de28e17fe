// A profile completed by the simulator's defaults: what a probe of that chip is compared with.
#pragma once

#include <string>

#include "hwdesc/profile.h"

namespace assay::probe::testing {

// Known values stay; memories that plain loads do not reach, and unused ones, are removed.
// `effects`: lines of an assay/virtual/1, of those that change a level.
hwdesc::Profile completed(hwdesc::Profile profile, const std::string& effects = "");

}  // namespace assay::probe::testing
