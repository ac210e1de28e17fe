// Runs a loop kernel as it stands, statement by statement: the oracle of the printed code, and the
// counter of what is executed. Checks every access against its buffer's bounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "ir/kernel.h"

namespace assay::codegen {

struct ExecutedCounts {
  int64_t fma = 0, arithmetic = 0, math = 0;           // vector operations by kind
  int64_t vector_loads = 0, splats = 0, gathers = 0;   // load instructions
  int64_t vector_stores = 0;
  int64_t iterations = 0;                              // of all loops
};

// `buffers`: one per global buffer of the kernel, float32 elements, physical order.
// Errors: an access outside its buffer (names buffer, index and statement), an unsupported dtype.
Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<float>> buffers);

}  // namespace assay::codegen
