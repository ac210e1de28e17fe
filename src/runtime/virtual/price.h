// What each operation of a kernel costs on a chip: its pipe, how long it keeps it busy, when its result is there.
#pragma once

#include "runtime/virtual/chip.h"
#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

void price(Code& code, const Chip& chip);

}  // namespace assay::runtime::simulated
