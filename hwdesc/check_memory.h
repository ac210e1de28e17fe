// Checks of each memory.
#pragma once

#include "hwdesc/findings.h"

namespace assay::hwdesc {

void check_memory(Findings& out, const Profile& profile);

}  // namespace assay::hwdesc
