// Scalar expressions: the bodies of nodes, and the steps of tuple reductions.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace assay::ir {

enum class ScalarOp {
  read,      // operand `operand`
  constant,  // `value`
  axis,      // the value of axis `operand`
  add,
  sub,
  mul,
  div,
  max,  // NaN in either operand goes through, in max, min and their combiners, and in kernels:
  min,  // docs/validating.md, special values
  pow,
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
  equal,   // 1 or 0
  select,  // args[0] != 0 ? args[1] : args[2]
};

// The scalar body of a node as a tree.
struct Scalar {
  ScalarOp op = ScalarOp::constant;
  int operand = -1;
  double value = 0;
  std::vector<Scalar> args;
  bool operator==(const Scalar&) const = default;
};

Scalar read(int operand);
Scalar number(double value);
Scalar apply(ScalarOp op, std::vector<Scalar> args);

// The operations of the trees, equal ones once: those of the first tree first, a tree's own last.
std::vector<Scalar> operations_in(std::span<const Scalar> trees);

// The trees with what they share computed once. The operands that they read are 0 to `operands` -
// 1; operand `operands` + i is the value of parts[i], which reads operands and earlier parts.
// `early`: are reads and axes that are known earlier; then the largest operations of these are
// parts.
struct Shared {
  std::vector<Scalar> parts;
  std::vector<Scalar> trees;
};
Shared share_parts(std::span<const Scalar> trees, int operands,
                   const std::function<bool(const Scalar& leaf)>& early = {});

}  // namespace assay::ir
