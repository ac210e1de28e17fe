// A profile with what a simulated chip does where the profile says nothing: what a probe of that chip is judged by.
#pragma once

#include "hwdesc/profile.h"

namespace assay::probe::testing {

// What the profile knows stays as it is; memories that plain loads do not reach, and those of no use to kernels, go.
hwdesc::Profile completed(hwdesc::Profile profile);

}  // namespace assay::probe::testing
