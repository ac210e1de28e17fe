// A loop kernel as a flat list of operations over registers: what a unit, or a wave, executes. Made
// once, run often.
//
// Expressions are taken apart into operations on named registers and temporaries. Addresses are
// `place + offset`: places are sums over index variables, kept up to date when a variable changes.
// Where lanes are threads (`Kernel::lane`), every register has a value per thread, and places have
// a step from one thread to the next.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace assay::runtime::simulated {

enum class OpKind : uint8_t {
  constant,    // dst = number
  copy,        // dst = a
  apply,       // dst = op(a, b, c)
  lane_index,  // dst = place + lane * stride
  load,        // dst = `count` elements `stride` apart
  indirect,    // dst = elements a[lane]
  store,       // a to `count` elements `stride` apart
  atomic,      // dst = `count` elements `stride` apart, which a is added to
  again,   // go back to `target` if a < b and dst > 0, which goes down by one; on with dst = 0 if a
           // < b
  locate,  // index variable var = the position that an element stands for
  let,     // index variable var = place + offset
  loop,    // var = 0, or go to `target` if it has no iteration
  next,    // next iteration: go to `target`, or on
  unless,  // go to `target` if the condition does not hold
  mask,  // from here on only the threads for which the condition holds; go to `target` if there is
         // none
  unmask_else,  // the others of the same condition; go to `target` if there is none
  unmask,
  jump,  // to `target`
  barrier,
  matrix,  // a matrix instruction: Code::matrices
  end,
};

// What is added up for an address or a bound: see Code::places.
struct Address {
  int place = -1;  // -1: nothing varies
  int64_t offset = 0;
  int64_t lane_step = 0;
  int slow = -1;  // >= 0: an index that has to be evaluated for every lane (Code::indices)
};

struct Linear {
  int var;
  int64_t coeff;
};

struct Place {
  std::vector<Linear> linear;
  ir::Index rest;  // terms with div, mod or an index inside
};

struct Test {  // low <= at <= high
  Address at;
  int64_t low = 0, high = 0;
};

struct Op {
  OpKind kind = OpKind::end;
  ir::ValueOp op = ir::ValueOp::constant;
  ir::DType dtype = ir::DType::f32;
  bool needed = true;  // does anybody look at the value
  ir::CacheHint hint = ir::CacheHint::none;
  int lanes = 1, count = 1;
  int dst = -1, a = -1, b = -1, c = -1;
  int buffer = -1, var = -1, target = -1;
  int tests = -1;   // into Code::tests
  int loop = -1;    // into Code::loops
  int matrix = -1;  // into Code::matrices
  int64_t stride = 1;
  double number = 0;
  Address at;
  // What it costs on a chip (price.h).
  int pipe = -1;
  int joined = 1;     // it is one of so many that are one instruction
  double issues = 0;  // instructions
  double busy = 0, latency = 0;
};

struct Loop {
  int var = -1;
  int64_t limit = 0;
  int unroll = 0;  // steps
  std::vector<Address> bounds;
  int body = 0, next = 0;  // operations: the first of the body, and its `next`
  bool innermost = true;
  bool touches_memory = false;
  bool same_addresses = false;  // every iteration touches the same
  bool repeatable = false;      // an iteration more or less leaves the same values behind
  bool straight = false;        // it only computes: no memory, no branch, no loop inside
  bool affine = false;  // straight, and registers change by additions and by products with what
                        // does not change
};

struct Matrix {
  ir::MatrixInstruction instruction;
  std::vector<int> d, a, b, c;  // registers
};

struct Reg {
  ir::DType dtype = ir::DType::f32;
  int lanes = 1;
  bool needed = true;
};

struct Code {
  std::string name;
  int width = 1;  // threads; 1: lanes are vectors
  int lane = -1;  // index variable of the thread's number
  int vars = 1;
  std::vector<Op> ops;
  std::vector<Reg> regs;
  std::vector<Place> places;
  std::vector<std::vector<int>> places_of;  // per variable: what changes with it
  std::vector<std::vector<Test>> tests;
  std::vector<ir::Index> indices;
  std::vector<Loop> loops;
  std::vector<Matrix> matrices;
  std::vector<ir::Buffer> buffers;  // of the kernel
  int64_t scratch_bytes = 0;
  int most_registers = 0;  // vectors declared at once
  bool touches_memory = false;
  bool computes = false;    // its loops do nothing else
  bool repeatable = false;  // running it again leaves the same in memory
};

// `width` > 1: lanes are threads, and kernels of vectors are rewritten for them. Errors: element
// types that are not simulated, bounds of loops that differ from thread to thread.
Result<Code> make_code(const ir::Kernel& kernel, int width);

}  // namespace assay::runtime::simulated
