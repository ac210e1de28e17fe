// Values as operations on registers and temporaries.
#include <array>

#include "runtime/virtual/translator.h"

namespace assay::runtime::simulated {

int Translator::operand(const ir::Value& v) {
  if (v.op == ir::ValueOp::reg) return v.id;
  if (v.op == ir::ValueOp::opaque) return operand(v.args[0]);
  const int t = temporary(v);
  value(v, t);
  return t;
}

void Translator::read(const ir::Value& v, int dst) {
  const Address at = address(v.index);
  Op& op = emit(OpKind::load);
  op.op = v.op;
  op.dtype = v.dtype;
  op.dst = dst;
  op.buffer = v.id;
  op.lanes = lanes_of(v.lanes);
  op.count = code_.width > 1 ? code_.width : v.op == ir::ValueOp::splat ? v.lanes : v.count;
  op.numbers = v.numbers;
  const int64_t step = code_.width > 1               ? at.lane_step
                       : v.op == ir::ValueOp::splat  ? 0
                       : v.op == ir::ValueOp::gather ? v.stride
                                                     : v.numbers;
  op.stride = step_in_runs(step, v.numbers);
  op.number = v.number;
  op.at = at;
}

void Translator::guard(const ir::Value& v, int dst) {
  branch(
      v.conditions, [&] { value(v.args[0], dst); }, [&] { value(v.args[1], dst); });
}

void Translator::value(const ir::Value& v, int dst) {
  switch (v.op) {
    case ir::ValueOp::load:
    case ir::ValueOp::splat:
    case ir::ValueOp::gather:
      return read(v, dst);
    case ir::ValueOp::guard: {
      // Its own register may be read in the other arm: it is written last.
      const int t = temporary(v);
      guard(v, t);
      Op& op = emit(OpKind::copy);
      op.dtype = v.dtype;
      op.lanes = lanes_of(v.lanes);
      op.dst = dst;
      op.a = t;
      return;
    }
    case ir::ValueOp::opaque:
      return value(v.args[0], dst);
    default:
      break;
  }
  std::array<int, 3> args = {-1, -1, -1};
  if (v.op == ir::ValueOp::reg) args[0] = v.id;
  for (size_t i = 0; i < v.args.size() && i < args.size(); ++i) args[i] = operand(v.args[i]);
  const Address at = v.op == ir::ValueOp::lane_index ? address(v.index) : Address{};
  Op& op = emit(v.op == ir::ValueOp::constant     ? OpKind::constant
                : v.op == ir::ValueOp::reg        ? OpKind::copy
                : v.op == ir::ValueOp::lane_index ? OpKind::lane_index
                : v.op == ir::ValueOp::indirect   ? OpKind::indirect
                                                  : OpKind::apply);
  op.op = v.op;
  op.dtype = v.dtype;
  op.lanes = op.count = lanes_of(v.lanes);
  op.dst = dst;
  op.a = args[0];
  op.b = args[1];
  op.c = args[2];
  op.buffer = v.id;
  op.number = v.number;
  op.at = at;
  op.stride = code_.width > 1 ? at.lane_step : v.stride;
}

}  // namespace assay::runtime::simulated
