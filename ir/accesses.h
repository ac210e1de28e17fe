// What the steps of a plan touch in the arena, and which of them have to be over before which.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/plan.h"

namespace assay::ir {

struct Access {                  // of a step to one of its arguments
  int step = -1, argument = -1;  // -1: its condition
  int tensor = -1;
  int64_t begin = 0, end = 0;  // bytes of the arena
  bool writes = false;
};

// Calls `met` for each two accesses to the same bytes of which one writes, unless the first is over
// before the second begins, as `is_over` says of their steps. They are in the order of the plan,
// which is what steps mean. What is over before a later write of all its bytes is not looked at any
// more. Pre: the plan's tensors and arguments are sound.
void each_conflict(const Plan& plan, const std::function<bool(int old_step, int now_step)>& is_over,
                   const std::function<void(const Access& old, const Access& now)>& met);

// For people: `both write (tensor a)`, `the second reads what the first writes (tensors a and b
// share bytes)`.
std::string conflict_text(const Plan& plan, const Access& old, const Access& now);

}  // namespace assay::ir
