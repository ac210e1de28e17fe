// Loop kernels: the code that is printed, compiled, interpreted and counted. One form for every
// kernel language; dialects only spell it.
//
// Values are vectors of `lanes` elements in named registers, never arrays. A load, splat, gather or
// indirect load may have values of another type than its buffer, and a store may take them
// (converts() in dtype.h): the access converts. A value of a packed type holds `numbers` neighbours
// of a buffer of its numbers: bf16x2 two bf16, i32 four i8. Addresses are element
// offsets given as ir::Index over the kernel's index variables. Those of gathers and stores, and
// conditions of guards and stores, may contain the number of the lane (`vector_lane`). A kernel
// runs once per group; the group id is index variable 0. Statements execute in order. Scratch is
// private to the running group. A group may be several waves. Each runs the whole body with its own
// wave id and registers; they share the scratch and synchronise at barriers.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "ir/index.h"
#include "ir/matrix.h"
#include "support/result.h"

namespace assay::ir {

enum class Scope {
  global,   // an argument
  scratch,  // allocated per group (CPU: per worker of the pool), uninitialised, 64-byte aligned
};

// The access path of a read-only argument. An element of an image is a texel, read as the sum of
// its `texel` numbers. Texels are stored contiguously in rows of `row` texels, at most `elements`
// in all.
enum class Space { plain, constant, image };

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  int64_t elements = 0;
  Scope scope = Scope::global;
  bool written = false;        // global: is it stored to
  bool read_back = false;      // written: groups also read what their other threads stored
  bool by_lane = false;        // scratch: lanes use only what they stored themselves
  Space space = Space::plain;  // global
  int texel = 1;               // image: 1, 2 or 4 numbers
  int64_t row = 0;             // image: texels; a power of two
  bool operator==(const Buffer&) const = default;
};

// Of a register that holds an opaque fragment whole.
struct FragmentType {
  int instruction = -1;  // of the kernel; -1: the register is one of lanes
  char operand = 'c';    // a, b, or c, which is d as well
  int layout = 0;        // of Fragment::memory: in which it is loaded or stored
  bool operator==(const FragmentType&) const = default;
};

struct Register {
  std::string name;
  DType dtype = DType::f32;
  int lanes = 1;  // of an opaque fragment: its elements
  FragmentType fragment = {};
  bool operator==(const Register&) const = default;
};

enum class ValueOp {
  constant,    // `number` in every lane
  reg,         // register `id`
  load,        // `count` consecutive elements of buffer `id` at `index`, other lanes `number`
  splat,       // one element of buffer `id` at `index`, in every lane
  gather,      // lane l: element at index + l * `stride`, for l < count, other lanes `number`
  indirect,    // lane l: element args[0][l] (an integer register) of buffer `id`; of an image also
               // the texel in column args[0][l] of row args[1][l], which may lie outside
  lane_index,  // lane l: index + l * `stride`, converted to dtype
  add,
  sub,
  mul,
  div,
  max,
  min,
  pow,
  fma,  // args[0] * args[1] + args[2]
  neg,
  abs,
  exp,
  log,
  sqrt,
  tanh,
  erf,
  floor,
  ceil,
  round,  // to the nearest whole number, half a unit to the even one
  less,
  equal,
  select,
  guard,    // conditions hold ? args[0] : args[1]; args[0] is evaluated only if they hold
  opaque,   // args[0], with its value hidden from the compiler
  convert,  // args[0], from i32 to f32 or back, as loads and stores convert
  dot,      // of i32: args[2] + the sum of the products of the four i8 in the bits of args[0] and
            // args[1]; wraps
  insert,   // args[0], of which number args[1] replaces the one in place `number`
};

// low <= index <= high
struct Condition {
  Index index;
  int64_t low = 0, high = 0;
  bool operator==(const Condition&) const = default;
};

struct Value {
  ValueOp op = ValueOp::constant;
  DType dtype = DType::f32;
  int lanes = 1;
  int id = -1;
  Index index;
  int64_t stride = 0;
  int count = 0;    // load, gather: 1..lanes
  int numbers = 1;  // load, splat, gather: neighbours in the buffer that each lane's value holds
  double number = 0;
  std::vector<Value> args;
  std::vector<Condition> conditions;  // guard
  bool operator==(const Value&) const = default;
};

struct Stmt;
using Block = std::vector<Stmt>;

// for (var = 0; var < min(limit, bound); ++var)
struct For {
  int var = -1;
  int64_t limit = 0;
  std::vector<Index> bounds;  // further upper bounds (all apply)
  int unroll = 0;             // 0: the compiler's choice; 1: never; n: by n
  Block body;
  bool operator==(const For&) const;
};

struct If {
  std::vector<Condition> conditions;  // all must hold
  Block then_body, else_body;
  // Without conditions, in the kernel's body: `then_body` is printed as a function of its own where
  // the language has such, so that its compiler hoists nothing across it. It uses no register or
  // index variable of the statements around it but the group and the lane.
  bool own_function = false;
  bool operator==(const If&) const;
};

struct LetIndex {  // var = value, once
  int var = -1;
  Index value;
  bool operator==(const LetIndex&) const = default;
};

// var = ir::position_of the element at `index` of buffer `id`, in [0, extent); -1: outside. Once.
struct Locate {
  int var = -1;
  int id = -1;
  Index index;
  int64_t extent = 1;
  bool operator==(const Locate&) const = default;
};

struct Assign {  // the first assignment in a scope is its declaration: see Declare
  int reg = -1;
  Value value;
  bool operator==(const Assign&) const = default;
};

struct Declare {  // registers live from here to the end of the enclosing block
  std::vector<int> regs;
  bool operator==(const Declare&) const = default;
};

enum class CacheHint { none, bypass, stream };

struct Store {  // the first `count` lanes of value to buffer `id` at `index`
  int id = -1;
  Index index;
  int64_t stride = 1;  // element distance of lanes; != 1: a scatter
  int count = 0;
  CacheHint hint = CacheHint::none;
  Value value;
  std::vector<Condition> conditions;  // lanes for which they do not hold store nothing
  bool operator==(const Store&) const = default;
};

// Neighbouring elements of an argument, brought to scratch by one lane.
struct Run {
  Index from, to;                     // of its first element; both may contain the lane
  std::vector<Condition> conditions;  // lanes for which they do not hold bring nothing
  bool operator==(const Run&) const = default;
};

// Each lane copies runs of `numbers` elements from argument `from` to scratch buffer `to` of the
// same type, each at once: they begin at multiples of `numbers`. All are loaded before any is
// stored.
struct Copy {
  int from = -1, to = -1;
  int lanes = 1;
  int numbers = 1;
  std::vector<Run> runs;
  bool operator==(const Copy&) const = default;
};

// Bytes that a lane loads or stores at once, at most.
inline constexpr int kWidestRun = 16;

// Neighbouring elements of a buffer in as many registers of its type, loaded or stored at once: a
// lane's first one is at `index`, which may contain the lane, and a multiple of their number.
struct MoveRun {
  bool store = false;
  std::vector<int> regs;
  int id = -1;
  Index index;
  std::vector<Condition> conditions;  // lanes for which they do not hold load 0, or store nothing
  bool operator==(const MoveRun&) const = default;
};

struct Prefetch {
  int id = -1;
  Index index;
  bool operator==(const Prefetch&) const = default;
};

struct Keep {  // marks the value as used, so that the compiler computes it here
  int reg = -1;
  bool operator==(const Keep&) const = default;
};

struct Barrier {  // of all lanes and waves of the group; makes their stores to scratch visible
  bool global = false;  // and those to global buffers
  bool operator==(const Barrier&) const = default;
};

// Fetch-and-add for every lane l, at index + l * `stride` of buffer `id`: the register gets the old
// value. i32 only. With one lane where lanes are threads, the first thread does it and the others
// get 0.
struct AtomicAdd {
  int reg = -1;  // -1: the old value is not used
  int id = -1;
  Index index;
  int64_t stride = 0;
  Value value;
  bool operator==(const AtomicAdd&) const = default;
};

// A barrier of all groups of a launch, for co-resident groups. Each increments the counter at
// `index` of buffer `id`, then polls until it is at least `all`. Polls are bounded by register
// `looks`, which each one decrements; 0 afterwards: not all groups arrived. Makes earlier stores of
// all groups visible. i32 of one lane; where lanes are threads, the first thread does it between
// two barriers.
struct DeviceBarrier {
  int id = -1;
  Index index;
  Value all;
  int looks = -1;
  bool operator==(const DeviceBarrier&) const = default;
};

// d = a b + c by one matrix instruction of all lanes. Register i of an operand holds in lane w
// element i of worker w in the operand's fragment. The registers of d and c are distinct, or the
// same.
struct MatrixMultiply {
  int instruction = -1;  // of the kernel
  std::vector<int> d, a, b, c;
  bool operator==(const MatrixMultiply&) const = default;
};

// An opaque fragment, from buffer `id` at `index` on or to it, in the register's layout. The
// buffer's elements are of its type. It is zeroed by an Assign of the constant 0.
struct MoveFragment {
  bool store = false;
  int reg = -1;
  int id = -1;
  Index index;
  int64_t stride = 0;  // elements along the layout's outermost dimension
  bool operator==(const MoveFragment&) const = default;
};

// An operand's fragment, loaded by a wave together from runs of neighbours in scratch. `index` is
// that of the lane's run in Fragment::by_row or by_column, a multiple of its length, and contains
// the lane; lanes without a run load nothing.
struct LoadFragment {
  int instruction = -1;  // of the kernel
  char operand = 'a';    // or b
  bool by_row = true;
  std::vector<int> regs;
  int id = -1;
  Index index;
  bool operator==(const LoadFragment&) const = default;
};

struct Stmt {
  std::variant<For, If, LetIndex, Locate, Assign, Declare, Store, Copy, Prefetch, Keep, Barrier,
               AtomicAdd, DeviceBarrier, MatrixMultiply, MoveFragment, LoadFragment, MoveRun>
      node;
  bool operator==(const Stmt&) const = default;
};

inline bool For::operator==(const For& o) const {
  return var == o.var && limit == o.limit && bounds == o.bounds && unroll == o.unroll &&
         body == o.body;
}
inline bool If::operator==(const If& o) const {
  return conditions == o.conditions && then_body == o.then_body && else_body == o.else_body &&
         own_function == o.own_function;
}

struct Kernel {
  Kernel();  // defined in kernel.cpp: the generated code of so many members is large
  Kernel(const Kernel&);
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(const Kernel&);
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();
  bool operator==(const Kernel&) const;

  std::string name;
  std::vector<Buffer> buffers;           // arguments first (in argument order), then scratch
  std::vector<std::string> index_names;  // [0] = "group"
  std::vector<Register> registers;
  std::vector<MatrixInstruction> instructions;  // that its statements use
  int64_t groups = 1;
  int waves = 1;         // of a group
  int wave = -1;         // index variable of the wave id, where there are several waves
  int lane = -1;         // index variable of the thread id in the group, where lanes are threads
  int vector_lane = -1;  // index variable of a vector's lane, where addresses need it
  Block body;
};

// The fragment that a register holds whole; nullptr: it is one of lanes.
const Fragment* fragment_in(const Kernel& k, const Register& r);

// Checks ids, declarations before use, lanes, loop variables bound once, and that all waves and
// lanes of a group reach each barrier.
Diags verify(const Kernel& k);

// A readable listing, for golden tests and `--explain`; not parsed.
std::string print_kernel(const Kernel& k);

// Canonical bytes for hashing.
std::string hash_of(const Kernel& k);

}  // namespace assay::ir
