// Static properties of a kernel's loops. Internal to code.cpp.
#pragma once

#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

// Fills in Loop's flags, Reg::needed and Op::needed. Pre: ops, regs, places are complete.
void describe_loops(Code& code);

}  // namespace assay::runtime::simulated
