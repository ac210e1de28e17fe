// Schedules drawn at random, to judge how well their times are predicted.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/plan.h"
#include "model/machine.h"

namespace assay::compiler {

// Sound schedules of the plan's steps, all different: of each, another part of the steps is wide,
// which ones is drawn, and each begins as soon as its units are free; units of half of them wait
// for parts of steps. At most `count`; fewer where the plan has no more. Pre: constants are placed;
// no transfers; units have queues of their own.
std::vector<std::vector<ir::Command>> draw_schedules(const ir::Plan& plan, const model::Machine& m,
                                                     int count, uint64_t seed);

}  // namespace assay::compiler
