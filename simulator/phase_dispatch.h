// Groups of several steps in one launch, dealt to units as these become free.
#pragma once

#include <span>
#include <vector>

namespace assay::simulator {

struct DispatchedStep {
  double groups = 1;
  double seconds = 0;  // of a group, with as many others on its unit as `slots` has
};

struct DispatchSpan {  // s from the launch's start: the first group's begin, the last one's end
  double begin = 0, end = 0;
};

// Steps in their order, a group to the first slot that is free: what the work distributors of GPUs
// do. Per step. `slots`: groups that run at once.
std::vector<DispatchSpan> dispatch(std::span<const DispatchedStep> steps, double slots);

}  // namespace assay::simulator
