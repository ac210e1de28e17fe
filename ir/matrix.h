// Matrix instructions: d = a b + c of small matrices that are distributed over the registers of a
// wave's or vector's lanes. This is what one computes; its spelling in a kernel language is text
// (codegen/isa).
#pragma once

#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/task_mapping.h"

namespace assay::ir {

struct Fragment {
  DType number = DType::f32;  // element type of the matrix
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

// Of one worker: every lane for itself, with a column of its own. `lanes` of them side by side, as
// an outer product: they have the same a. Others are themselves.
//
// So one file serves waves of every width. Alternatives that were not taken: a file for each width
// (the same text five times), a mapping step of unknown size (every use of a mapping would ask for
// it), a spelling per number in each dialect (then the profile's rates could not name it).
MatrixInstruction widened(const MatrixInstruction& i, int lanes);

// All its fields, in one line.
std::string print(const MatrixInstruction& i);

// Evaluates d. Registers are arrays of their lanes' values, or bits of packed elements: lane l of
// register r at r * workers + l. Exact products are summed in float64 in order, and the sum is
// rounded once. Hardware may sum in another order and round in between.
std::vector<double> multiply(const MatrixInstruction& i, const std::vector<double>& a,
                             const std::vector<double>& b, const std::vector<double>& c);

}  // namespace assay::ir
