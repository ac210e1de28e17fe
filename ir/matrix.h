// Matrix instructions: d = a b + c of small matrices, each of which lies in registers of all lanes
// of a wave, or of a vector. What one computes, without what it is called anywhere: that is text
// (codegen/isa).
#pragma once

#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/task_mapping.h"

namespace assay::ir {

struct Fragment {
  DType number = DType::f32;  // of the matrix
  DType element =
      DType::f32;     // of the registers that hold it: as wide, or with several numbers in each
  bool tf32 = false;  // of f32 only 10 bits of the fraction are read
  TaskMapping
      mapping;  // lane -> its elements of the matrix, in the order in which its registers hold them

  int per_register() const { return bytes_of(element) / bytes_of(number); }
  int registers() const { return mapping.items() / per_register(); }
  bool operator==(const Fragment&) const = default;
};

struct MatrixInstruction {
  std::string name;         // of its file in the library: sm80.mma.m16n8k16.f16.f32
  int m = 1, n = 1, k = 1;  // a: m x k, b: k x n, c and d: m x n
  Fragment a, b, c;
  bool operator==(const MatrixInstruction&) const = default;

  int workers() const { return c.mapping.workers(); }
};

// All that it says, in a line.
std::string print(const MatrixInstruction& i);

// Registers as their lanes' values (of packed elements: their bits), one after the other: lane l of
// register r at r * workers + l. Gives those of d. Products are exact, and are added one by one in
// float64 before the result is rounded once: hardware adds in an order, and with roundings, of its
// own.
std::vector<double> multiply(const MatrixInstruction& i, const std::vector<double>& a,
                             const std::vector<double>& b, const std::vector<double>& c);

}  // namespace assay::ir
