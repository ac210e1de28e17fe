// One order for what has none: the entries of YAML maps and of lists whose entries are found by
// key. Where order says something (topology from outside in, memory near to far, the memories a
// path goes through) it stays. Post-condition: canonical(canonical(p)) == canonical(p).
#pragma once

#include "hwdesc/profile.h"

namespace assay::hwdesc {

Profile canonical(Profile profile);

}  // namespace assay::hwdesc
