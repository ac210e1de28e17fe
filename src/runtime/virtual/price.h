// What each operation of a kernel costs on a chip: its pipe, how long it keeps it busy, when its result is there.
#pragma once

#include "runtime/virtual/chip.h"
#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

// Bytes of its machine code, were it compiled.
int64_t code_bytes(const Code& code, const Chip& chip);

void price(Code& code, const Chip& chip);

}  // namespace assay::runtime::simulated
