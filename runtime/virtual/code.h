// A loop kernel as a flat list of operations over registers, which a unit or a wave executes.
//
// Expressions become operations on registers and temporaries. Addresses are `place + offset`:
// places are sums over index variables, updated when a variable changes. Where lanes are threads
// (`Kernel::lane`), every register has a value per thread, and addresses have a step per thread.
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
  part,        // of runs of `numbers`: dst = number `var` of a; stride 1: number `var` of dst = a
  apply,       // dst = op(a, b, c)
  lane_index,  // dst = place + lane * stride
  load,        // dst = `count` values at `stride`; 1: one after the other
  indirect,    // dst = elements a[lane]
  store,       // a to `count` elements at `stride`
  atomic,      // dst = `count` elements at `stride`, then adds a to them
  poll,        // if a < b: to `target` and --dst if dst > 0, else dst = 0
  locate,      // index variable var = position given by an element's value
  let,         // index variable var = place + offset
  loop,        // var = 0, or to `target` if there is no iteration
  next,        // ++var and to `target`, unless it was the last iteration
  unless,      // to `target` if the condition does not hold
  mask,        // activates the threads for which the condition holds; to `target` if there are none
  unmask_else,  // activates the other threads of that condition; to `target` if there are none
  unmask,       // activates the threads from before `mask`
  jump,         // to `target`
  barrier,
  matrix,  // a matrix instruction: Code::matrices
  deal,    // runs of a, dealt to the registers of a fragment: Code::dealt
  end,
};

// An address or a bound: Code::places[place] + offset + lane * lane_step.
struct Address {
  int place = -1;  // -1: constant
  int64_t offset = 0;
  int64_t lane_step = 0;
  int slow = -1;     // >= 0: an index to be evaluated per lane, in Code::indices
  int offsets = -1;  // >= 0: what each lane adds, in Code::lane_offsets
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
  bool needed = true;  // the value affects memory or control flow
  ir::CacheHint hint = ir::CacheHint::none;
  int lanes = 1, count = 1;
  int numbers = 1;  // load: elements of the buffer in each lane's value
  int dst = -1, a = -1, b = -1, c = -1;
  int buffer = -1, var = -1, target = -1;
  int tests = -1;   // into Code::tests
  int loop = -1;    // into Code::loops
  int matrix = -1;  // into Code::matrices, or Code::dealt
  int64_t stride = 1;
  double number = 0;
  Address at;
  // Its cost on a chip (price.h).
  int pipe = -1;
  int joined = 1;     // loads that are merged into one instruction
  double issues = 0;  // instructions
  double busy = 0, latency = 0;
  int converts_on = -1;   // a load or store that converts: the pipe,
  double converting = 0;  // and the ticks that it occupies it
};

struct Loop {
  int var = -1;
  int64_t limit = 0;
  int unroll = 0;  // steps
  std::vector<Address> bounds;
  int body = 0, next = 0;  // operations: the first of the body, and its `next`
  bool innermost = true;
  bool touches_memory = false;
  bool same_addresses = false;  // every iteration accesses the same addresses
  bool repeatable = false;      // no needed value is carried between iterations
  bool straight = false;        // only computes: no memory access, branch or inner loop
  bool affine = false;          // straight, and only sums and products with loop invariants
};

struct Matrix {
  ir::MatrixInstruction instruction;
  std::vector<int> d, a, b, c;  // registers
};

struct DealtFragment {
  ir::Fragment fragment;
  bool by_row = true;
  std::vector<int> regs;
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
  std::vector<std::vector<int>> places_of;  // per variable: the places that depend on it
  std::vector<std::vector<Test>> tests;
  std::vector<ir::Index> indices;
  struct LaneOffsets {  // per thread, and the index that they are
    std::vector<int64_t> values;
    ir::Index index;
  };
  std::vector<LaneOffsets> lane_offsets;
  std::vector<Loop> loops;
  std::vector<Matrix> matrices;
  std::vector<DealtFragment> dealt;
  std::vector<ir::Buffer> buffers;  // of the kernel
  int64_t scratch_bytes = 0;
  int most_registers = 0;  // vectors declared at once
  bool touches_memory = false;
  bool computes = false;    // all its loops are straight
  bool repeatable = false;  // running it again gives the same memory
};

// `width` > 1: lanes are threads, and kernels of vectors are rewritten for them. Errors: element
// types that are not simulated; positions that differ between threads.
Result<Code> make_code(const ir::Kernel& kernel, int width);

}  // namespace assay::runtime::simulated
