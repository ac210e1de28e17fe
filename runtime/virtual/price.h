// What each operation of a kernel costs on a chip: its pipe, how long it keeps it busy, when its
// result is there.
#pragma once

#include <span>

#include "runtime/virtual/chip.h"
#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

// Bytes of its machine code, were it compiled.
int64_t code_bytes(const Code& code, const Chip& chip);

// `in_two`: element types whose multiply-adds are written so that the compiler makes two
// instructions of each.
void price(Code& code, const Chip& chip, std::span<const ir::DType> in_two = {});

}  // namespace assay::runtime::simulated
