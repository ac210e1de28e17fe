// Interprets a loop kernel statement by statement: the oracle for printed code, and the counter of
// executed operations. Checks every access against its buffer's bounds (prefetches touch nothing).
// Registers and scratch are NaN until they are written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace assay::codegen {

// Vector operations that were executed, by kind:
//   arithmetic: add sub mul max min neg abs floor ceil round convert less equal select dot
//   divide:     div sqrt
//   math:       exp log tanh erf pow
//   gathers:    gather and indirect
struct ExecutedCounts {
  int64_t fma = 0, arithmetic = 0, divide = 0, math = 0;
  int64_t vector_loads = 0, splats = 0, gathers = 0;  // load instructions
  int64_t vector_stores = 0;
  int64_t matrix = 0;      // matrix instructions
  int64_t iterations = 0;  // of all loops
  bool operator==(const ExecutedCounts&) const = default;
};

// `buffers`: one per global buffer of the kernel, its elements as numbers (of packed types: their
// bits), physical order. Operations round as their type does; fma rounds once. Errors: what verify
// finds, an access outside its buffer (names buffer and index), a buffer of another size, an
// unsupported dtype (u8 bool).
Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<double>> buffers);
// The same of groups [first, last) alone. Pre: the kernel has them.
Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<double>> buffers,
                                 int64_t first, int64_t last);
Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<float>> buffers,
                                 int64_t first, int64_t last);
// All groups of float32 numbers; integers in them are exact up to 2^24.
Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<float>> buffers);

}  // namespace assay::codegen
