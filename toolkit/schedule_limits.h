// What a chip allows of a schedule.
#pragma once

#include <string>

#include "ir/plan.h"
#include "model/machine.h"
#include "support/result.h"

namespace assay::toolkit {

// Why the plan's schedule can not run there; empty: it can, or there is none: fewer units than it
// is for; groups that stay on a unit, more than fit beside each other, with the steps that need
// most. `file`: of the plan, for messages.
Diags unschedulable(const ir::Plan& plan, const model::Machine& machine, const std::string& file);

}  // namespace assay::toolkit
