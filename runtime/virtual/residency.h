// How many groups of threads a unit holds at once.
#pragma once

#include <cstdint>

#include "runtime/virtual/chip.h"
#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

struct Needs {  // of a group
  int waves = 1, threads = 1;
  int registers = 0;  // of a thread, as they are allocated
  int64_t scratch_bytes = 0;
};

Needs needs_of(const Chip& chip, const Code& code);
// Of one text that has the code of both.
Needs largest(const Needs& a, const Needs& b);

struct Fitting {  // groups; kAny: that limits none
  static constexpr int kAny = 1 << 30;
  int waves = kAny, groups = kAny, scratch = kAny, registers = kAny;
  int all() const;
};
Fitting fitting(const Chip& chip, const Needs& needs);

// At least 1: what does not fit is taken to spill.
int resident(const Chip& chip, const Needs& needs);

// First partition of the unit's n-th group, whose waves occupy consecutive partitions.
int partition_of(const Chip& chip, const Needs& needs, int group);

}  // namespace assay::runtime::simulated
