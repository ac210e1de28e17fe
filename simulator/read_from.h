// Which memory holds what a plan's steps read: for pictures of plans.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"
#include "model/machine.h"

namespace assay::simulator {

// Per step and argument, the name of the nearest memory that holds at least half of the tensor when
// the step begins, in the steady state of `simulate`; the last memory where none does.
std::vector<std::vector<std::string>> read_from(const ir::Plan& plan, const model::Machine& m);

}  // namespace assay::simulator
