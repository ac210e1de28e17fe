// Hand-written loop kernels for tests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/kernel.h"

namespace assay::testing {

using namespace ir;

inline Value constant_of(double number, int lanes) {
  Value v;
  v.lanes = lanes;
  v.number = number;
  return v;
}

inline Value reg(int id, int lanes) {
  Value v;
  v.op = ValueOp::reg;
  v.id = id;
  v.lanes = lanes;
  return v;
}

inline Value access(ValueOp op, int buffer, Index index, int lanes, int count = 0) {
  Value v;
  v.op = op;
  v.id = buffer;
  v.index = std::move(index);
  v.lanes = lanes;
  v.count = count == 0 ? lanes : count;
  return v;
}
inline Value load(int buffer, Index index, int lanes, int count = 0) {
  return access(ValueOp::load, buffer, std::move(index), lanes, count);
}
inline Value splat(int buffer, Index index, int lanes) {
  return access(ValueOp::splat, buffer, std::move(index), lanes);
}
inline Value gather(int buffer, Index index, int64_t stride, int lanes, int count = 0) {
  Value v = access(ValueOp::gather, buffer, std::move(index), lanes, count);
  v.stride = stride;
  return v;
}

inline Value op(ValueOp o, std::vector<Value> args) {
  Value v;
  v.op = o;
  v.lanes = args[0].lanes;
  v.dtype = args[0].dtype;
  v.args = std::move(args);
  return v;
}

inline Value guard(std::vector<Condition> conditions, Value inside, Value outside) {
  Value v = op(ValueOp::guard, {std::move(inside), std::move(outside)});
  v.conditions = std::move(conditions);
  return v;
}

inline Stmt store(int buffer, Index index, Value value, int count = 0) {
  Store s;
  s.id = buffer;
  s.index = std::move(index);
  s.count = count == 0 ? value.lanes : count;
  s.value = std::move(value);
  return {s};
}
inline Stmt assign(int r, Value v) { return {Assign{r, std::move(v)}}; }
inline Stmt loop(int var, int64_t limit, Block body, int unroll = 0,
                 std::vector<Index> bounds = {}) {
  return {For{var, limit, std::move(bounds), unroll, std::move(body)}};
}
inline Stmt declare(std::vector<int> regs) { return {Declare{std::move(regs)}}; }
inline Stmt let(int var, Index value) { return {LetIndex{var, std::move(value)}}; }

inline Buffer input(std::string name, int64_t elements) {
  return {std::move(name), DType::f32, elements, Scope::global, false};
}
inline Buffer output(std::string name, int64_t elements) {
  return {std::move(name), DType::f32, elements, Scope::global, true};
}
inline Buffer scratch(std::string name, int64_t elements) {
  return {std::move(name), DType::f32, elements, Scope::scratch, true};
}

// y[i] = f(x[i]) for n elements, 16 at a time and a counted tail; a group per 64 elements.
inline Kernel elementwise(std::string name, int64_t n, const std::function<Value(Value)>& f) {
  Kernel k;
  k.name = std::move(name);
  k.buffers = {input("x", n), output("y", n)};
  k.index_names = {"group", "i"};
  k.groups = (n + 63) / 64;
  const Index at = variable(0, 64) + variable(1, 16);
  const int tail = static_cast<int>(n % 16);
  const int64_t last = n / 16 * 16;
  Block whole{store(1, at, f(load(0, at, 16)))};
  Block part;
  if (tail != 0) part = {store(1, at, f(load(0, at, 16, tail)), tail)};
  Index vectors = variable(0, -4);  // vectors left for this group
  vectors.offset = (n + 15) / 16;
  k.body = {
      loop(1, 4, {Stmt{If{{{at, 0, last - 1}}, std::move(whole), std::move(part)}}}, 0, {vectors})};
  return k;
}

// Several waves per group. In each step, each stages a row of x and accumulates the next wave's row
// in reverse.
inline Kernel rotate(int64_t steps, int64_t groups, int waves = 3) {
  const int64_t of_group = int64_t{16} * waves;
  Kernel k;
  k.name = "rotate";
  k.buffers = {input("x", of_group * steps * groups), output("y", of_group * groups),
               scratch("rows", of_group)};
  k.index_names = {"group", "wave", "i"};
  k.registers = {{"sum", DType::f32, 16}};
  k.groups = groups;
  k.waves = waves;
  k.wave = 1;
  const std::vector<Range> ranges{{0, groups - 1}, {0, waves - 1}, {0, steps - 1}};
  const Index own = variable(1, 16), next = modulo(variable(1) + 1, waves, ranges) * 16;
  const Stmt barrier{Barrier{}};
  k.body = {
      declare({0}), assign(0, constant_of(0, 16)),
      loop(2, steps,
           {store(2, own, load(0, variable(0, of_group * steps) + variable(2, of_group) + own, 16)),
            barrier,
            assign(0, op(ValueOp::fma,
                         {gather(2, next + 15, -1, 16), constant_of(0.5, 16), reg(0, 16)})),
            barrier}),
      store(1, variable(0, of_group) + own, reg(0, 16))};
  return k;
}

inline Kernel copy(int64_t n) {
  return elementwise("copy", n, [](Value v) { return v; });
}

// C[m x 32 NV] += A[m x k] * B[k x 32 panel]: rows x (16 * vectors) register tile per group, A
// packed [k][rows], B packed [k][16 * vectors]; each group its own A panel.
inline Kernel matmul_tile(int rows, int vectors, int64_t k, int64_t groups) {
  Kernel kernel;
  const int width = 16 * vectors;
  kernel.name = "matmul_tile";
  kernel.buffers = {input("A", groups * k * rows), input("B", k * width),
                    output("C", groups * rows * width)};
  kernel.index_names = {"group", "k"};
  kernel.groups = groups;
  std::vector<int> acc, b;
  for (int i = 0; i < rows * vectors; ++i) {
    acc.push_back(static_cast<int>(kernel.registers.size()));
    kernel.registers.push_back({"c", DType::f32, 16});
  }
  for (int v = 0; v < vectors; ++v) {
    b.push_back(static_cast<int>(kernel.registers.size()));
    kernel.registers.push_back({"b", DType::f32, 16});
  }
  Block step{declare(b)}, end;
  kernel.body = {declare(acc)};
  for (const int a : acc) kernel.body.push_back(assign(a, constant_of(0, 16)));
  for (int v = 0; v < vectors; ++v)
    step.push_back(assign(b[static_cast<size_t>(v)], load(1, variable(1, width) + 16 * v, 16)));
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) {
      const int c = acc[static_cast<size_t>(r * vectors + v)];
      const Index a = variable(0, k * rows) + variable(1, rows) + r;
      step.push_back(assign(
          c, op(ValueOp::fma, {splat(0, a, 16), reg(b[static_cast<size_t>(v)], 16), reg(c, 16)})));
      end.push_back(store(2, variable(0, rows * width) + (r * width + 16 * v), reg(c, 16)));
    }
  kernel.body.push_back(loop(1, k, std::move(step), 1));
  kernel.body.insert(kernel.body.end(), end.begin(), end.end());
  return kernel;
}

// Registers [first, first + sums) of 8 lanes from 0 on, `step` repeated, and what becomes of them.
inline Block summed(int first, int sums, int var, int64_t steps, Block step, const Block& end) {
  std::vector<int> all;
  for (int i = 0; i < sums; ++i) all.push_back(first + i);
  Block out{declare(all)};
  for (const int i : all) out.push_back(assign(i, constant_of(0, 8)));
  out.push_back(loop(var, steps, std::move(step), 1));
  out.insert(out.end(), end.begin(), end.end());
  return out;
}

// Per group and each of `tiles`, twice: sums of `rows` x 3 vectors of 8 over k, each plus a bias
// that is the same for all: C[tile][half][row][24] = A[tile][k][row] * B[half][k][24] + bias[half].
inline Kernel biased_tiles(int rows, int64_t k, int64_t tiles, int64_t groups) {
  Kernel kernel;
  kernel.name = "biased_tiles";
  kernel.buffers = {input("A", groups * tiles * k * rows), input("B", 2 * k * 24),
                    input("bias", 48), output("C", groups * tiles * 2 * rows * 24)};
  kernel.index_names = {"group", "tile", "k", "k"};
  kernel.groups = groups;
  const int sums = rows * 3, registers = sums + 3;
  kernel.registers.assign(2 * static_cast<size_t>(registers), {"r", DType::f32, 8});
  Block tile;
  for (int half = 0; half < 2; ++half) {
    const int acc = half * registers, b = acc + sums, var = 2 + half;
    const Index from = variable(0, tiles * k * rows) + variable(1, k * rows) + variable(var, rows),
                to = variable(0, tiles * 2 * rows * 24) + variable(1, 2 * rows * 24) +
                     half * rows * 24;
    Block step{declare({b, b + 1, b + 2})}, end;
    for (int v = 0; v < 3; ++v)
      step.push_back(assign(b + v, load(1, variable(var, 24) + (half * k * 24 + 8 * v), 8)));
    for (int i = 0; i < sums; ++i) {
      step.push_back(assign(acc + i, op(ValueOp::fma, {splat(0, from + i / 3, 8), reg(b + i % 3, 8),
                                                       reg(acc + i, 8)})));
      const Value bias = load(2, ir::constant(half * 24 + 8 * (i % 3)), 8);
      end.push_back(store(3, to + 8 * i, op(ValueOp::add, {reg(acc + i, 8), bias})));
    }
    const Block part = summed(acc, sums, var, k, std::move(step), end);
    tile.insert(tile.end(), part.begin(), part.end());
  }
  kernel.body = {loop(1, tiles, std::move(tile), 1)};
  return kernel;
}

// out[row][8 n ..] = sum over s of x[row][8 (n + s) ..] * w[s], n = 0 .. vectors - 1: what a step
// loads, the next one loads again for the vector before.
inline Kernel sliding_sums(int vectors, int64_t steps, int64_t rows, int64_t groups) {
  Kernel kernel;
  kernel.name = "sliding_sums";
  const int64_t width = 8 * (vectors + steps);
  kernel.buffers = {input("x", groups * rows * width), input("w", 8 * steps),
                    output("out", groups * rows * 8 * vectors)};
  kernel.index_names = {"group", "row", "s"};
  kernel.groups = groups;
  kernel.registers.assign(static_cast<size_t>(vectors) + 1, {"r", DType::f32, 8});
  Block step{declare({vectors}), assign(vectors, load(1, variable(2, 8), 8))}, end;
  const Index first = variable(0, rows * width) + variable(1, width) + variable(2, 8),
              to = variable(0, rows * 8 * vectors) + variable(1, 8 * vectors);
  for (int i = 0; i < vectors; ++i) {
    step.push_back(
        assign(i, op(ValueOp::fma, {load(0, first + 8 * i, 8), reg(vectors, 8), reg(i, 8)})));
    end.push_back(store(2, to + 8 * i, reg(i, 8)));
  }
  kernel.body = {loop(1, rows, summed(0, vectors, 2, steps, std::move(step), end), 1)};
  return kernel;
}

// `barriers` device barriers, each waiting for `all` groups. left[group] gets the remaining polls
// of `looks`. Buffers of i32: left, and the arrival counter come.
inline Kernel barriers_of_all(int64_t groups, int64_t barriers, int all, int looks) {
  Kernel k;
  k.name = "barriers_of_all";
  k.buffers = {{"left", DType::i32, groups, Scope::global, true},
               {"come", DType::i32, 1, Scope::global, true}};
  k.index_names = {"group", "i"};
  k.groups = groups;
  k.registers = {{"until", DType::i32, 1}, {"looks", DType::i32, 1}};
  const auto number = [](double v) {
    Value c = constant_of(v, 1);
    c.dtype = DType::i32;
    return c;
  };
  const auto value_of = [](int id) {
    Value r = reg(id, 1);
    r.dtype = DType::i32;
    return r;
  };
  k.body = {declare({0, 1}), assign(0, number(0)), assign(1, number(looks)),
            loop(1, barriers,
                 {assign(0, op(ValueOp::add, {value_of(0), number(all)})),
                  {DeviceBarrier{1, {}, value_of(0), 1}}},
                 1),
            store(0, variable(0), value_of(1))};
  return k;
}

}  // namespace assay::testing
