// When the steps of a plan run, of a timeline in commands.
#pragma once

#include <span>
#include <vector>

#include "simulator/estimate.h"

namespace assay::simulator {

struct StepSpan {  // s, from a step's first group's start to its last one's end; 0: it has none
  double begin = 0, end = 0;
  double seconds() const { return end - begin; }
};

// Per step.
std::vector<StepSpan> step_spans(std::span<const ir::Command> schedule, size_t steps,
                                 std::span<const Slice> slices);

}  // namespace assay::simulator
