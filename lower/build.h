// Constructors of loop kernel statements and values. Internal to lower/.
#pragma once

#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/kernel.h"

namespace assay::lower {

inline ir::Value constant_value(double number, int lanes, ir::DType type = ir::DType::f32) {
  ir::Value v;
  v.op = ir::ValueOp::constant;
  v.dtype = type;
  v.number = number;
  v.lanes = lanes;
  return v;
}

inline ir::Value reg_value(int reg, int lanes, ir::DType type = ir::DType::f32) {
  ir::Value v;
  v.op = ir::ValueOp::reg;
  v.dtype = type;
  v.id = reg;
  v.lanes = lanes;
  return v;
}

inline ir::Value op_value(ir::ValueOp op, std::vector<ir::Value> args) {
  ir::Value v;
  v.op = op;
  v.lanes = args.front().lanes;
  v.dtype = args.front().dtype;
  v.args = std::move(args);
  return v;
}

// The value where the conditions hold, else 0.
inline ir::Value guard_value(std::vector<ir::Condition> conditions, ir::Value value) {
  ir::Value g;
  g.op = ir::ValueOp::guard;
  g.lanes = value.lanes;
  g.dtype = value.dtype;
  g.conditions = std::move(conditions);
  ir::Value none = constant_value(0, value.lanes);
  none.dtype = value.dtype;
  g.args = {std::move(value), std::move(none)};
  return g;
}

template <class Node>
void append(ir::Block& block, Node node) {
  ir::Stmt s;
  s.node = std::move(node);
  block.push_back(std::move(s));
}

}  // namespace assay::lower
