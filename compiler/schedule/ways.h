// How a chip can run steps side by side.
#pragma once

#include "compiler/schedule/schedule.h"
#include "hwdesc/target.h"

namespace assay::compiler {

Ways ways_of(const hwdesc::Target& target, const model::Machine& m, Schedule how);

}  // namespace assay::compiler
