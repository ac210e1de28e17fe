// The cost of each operation of a kernel on a chip: its pipe, how long it occupies it, and its
// latency.
#pragma once

#include <span>

#include "runtime/virtual/chip.h"
#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

// Estimated bytes of its machine code.
int64_t code_bytes(const Code& code, const Chip& chip);

// `in_two`: element types whose multiply-adds the compiler does not fuse, so each is two
// instructions.
void price(Code& code, const Chip& chip, std::span<const ir::DType> in_two = {});

}  // namespace assay::runtime::simulated
