// Sorts what has no order: entries of YAML maps and of lists addressed by key. Keeps the order that
// has a meaning: topology from outside in, memory near to far, the memories of a path.
// Post-condition: canonical(canonical(p)) == canonical(p).
#pragma once

#include "hwdesc/profile.h"

namespace assay::hwdesc {

Profile canonical(Profile profile);

}  // namespace assay::hwdesc
