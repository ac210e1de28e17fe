// Matrix instructions: d = a b + c of small matrices. This is what one computes; its spelling in a
// kernel language is text (codegen/isa).
//
// A fragment is distributed over the registers of a wave's or vector's lanes. Or it is opaque:
// where its elements lie is the chip's business, and it is loaded from memory and stored to it
// whole, in one of the layouts that it has there. As a value it is one register of all its
// elements, row by row, with a lane for each: multiply() and the interpreter need nothing else.
// Alternatives that were not taken: a value type of its own in kernels (every pass would have to
// know it), and lanes of rows (no load has them). What is in memory in no such layout, or only in
// part, is put together in scratch first: programs then need no conditions on where their operands
// lie.
#pragma once

#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/layout.h"
#include "ir/task_mapping.h"

namespace assay::ir {

// How an opaque fragment's elements may lie in memory: a layout of its rows (0) and columns (1). A
// load or store names the distance of elements along the outermost dimension, the stride; the
// others are dense.
struct FragmentLayout {
  std::string name;
  Layout layout;
  bool operator==(const FragmentLayout&) const = default;
};

struct Fragment {
  DType number = DType::f32;  // element type of the matrix
  DType element =
      DType::f32;     // of the registers that hold it: as wide, or with several numbers in each
  bool tf32 = false;  // of f32 only 10 bits of the fraction are read
  TaskMapping
      mapping;  // lane -> its elements of the matrix, in the order in which its registers hold them

  std::vector<FragmentLayout> memory;  // not empty: it is opaque
  // Of one that a wave loads together from runs of neighbours in scratch: lane -> its run, in rows
  // of runs, or in columns of them. No steps: it can not.
  TaskMapping by_row, by_column;

  int per_register() const { return bytes_of(element) / bytes_of(number); }
  int registers() const { return mapping.items() / per_register(); }
  bool operator==(const Fragment&) const = default;
};

// Elements of such a run; 0: there are none. `rows`: it lies along a row.
int run_elements(const Fragment& f, bool rows);

// Element `i` of the run that a lane names.
Task element_of_run(const Fragment& f, bool rows, int lane, int i);

// The registers of a fragment, all lanes of one after the other, that hold this matrix, row by row.
std::vector<double> registers_of(const Fragment& f, const std::vector<double>& matrix);

struct MatrixInstruction {
  std::string name;         // of its file in the library: sm80.mma.m16n8k16.f16.f32
  int m = 1, n = 1, k = 1;  // a: m x k, b: k x n, c and d: m x n
  Fragment a, b, c;
  int registers = 0;  // of a core for opaque fragments, whose names are numbers; 0: variables of a
                      // wave hold them
  int address = 1, stride = 1;  // bytes of which those of opaque fragments are multiples
  bool operator==(const MatrixInstruction&) const = default;

  int workers() const { return c.mapping.workers(); }
  bool opaque() const { return !c.memory.empty(); }
  bool has_fragments() const { return !c.mapping.steps.empty(); }  // else it is priced only
  const Fragment& operand(char which) const { return which == 'a' ? a : which == 'b' ? b : c; }
};

// An opaque fragment in memory: the steps of its outermost dimension, elements of a step, and the
// distance of an element from the first one.
int64_t memory_lines(const Fragment& f, int layout);
int64_t line_elements(const Fragment& f, int layout);
int64_t memory_offset(const Fragment& f, int layout, const Task& t, int64_t stride);

// Of one worker: every lane for itself, with a column of its own. `lanes` of them side by side, as
// an outer product: they have the same a. Others are themselves.
//
// So one file serves waves of every width. Not taken: a file for each width, which has the same
// text five times. A mapping step of unknown size: every use of a mapping would ask for it. A
// spelling of each dialect: the profile's rates could not name it.
MatrixInstruction widened(const MatrixInstruction& i, int lanes);

// All its fields, in one line.
std::string print(const MatrixInstruction& i);

// Evaluates d. Registers are arrays of their lanes' values, or bits of packed elements: lane l of
// register r at r * workers + l. Exact products are summed in float64 in order, and the sum is
// rounded once. Hardware may sum in another order and round in between.
std::vector<double> multiply(const MatrixInstruction& i, const std::vector<double>& a,
                             const std::vector<double>& b, const std::vector<double>& c);

}  // namespace assay::ir
