#include "codegen/legalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay::codegen {
namespace {

using ir::Value;
using ir::ValueOp;

struct Legaliser {
  const ir::Kernel& kernel;
  const Dialect& dialect;
  ir::Kernel out{};
  std::vector<std::vector<int>> pieces_of{};  // per register: the registers it became
  std::set<int> unsupported{};

  int width_for(int lanes, ir::DType dtype);
  void split_registers();
  Value value(const Value& v, int piece, int width);
  Value leaf(Value v, int piece, int width);
  Value lowered(Value v);
  ir::Block block(const ir::Block& b);

  void add(ir::Block& to, const ir::For& s);
  void add(ir::Block& to, const ir::If& s);
  void add(ir::Block& to, const ir::LetIndex& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Locate& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Assign& s);
  void add(ir::Block& to, const ir::Declare& s);
  void add(ir::Block& to, const ir::Store& s);
  void add(ir::Block& to, const ir::Prefetch& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Keep& s);
  void add(ir::Block& to, const ir::Barrier& s) { to.push_back({s}); }
};

// The widest spelled width that divides `lanes`; widths count elements of 4 bytes.
int Legaliser::width_for(int lanes, ir::DType dtype) {
  const int words = std::max(1, ir::bytes_of(dtype) / 4);
  const auto& widths = dialect.capabilities.vector_widths;
  const int widest = widths.empty() ? 0 : *std::max_element(widths.begin(), widths.end());
  int best = 0;
  for (const int w : widths)
    if (w <= lanes && lanes % w == 0 && (w == 1 || w * words <= widest)) best = std::max(best, w);
  // A vector of one-lane pieces is no vector code: say so instead.
  if (best == 0 || (best == 1 && lanes > 1)) {
    unsupported.insert(lanes);
    return lanes;
  }
  return best;
}

void Legaliser::split_registers() {
  out.registers.clear();
  for (const ir::Register& r : kernel.registers) {
    const int width = width_for(r.lanes, r.dtype);
    std::vector<int> ids;
    for (int l = 0; l < r.lanes; l += width) {
      ids.push_back(static_cast<int>(out.registers.size()));
      out.registers.push_back(
          {r.lanes == width ? r.name : fmt::format("{}_{}", r.name, l), r.dtype, width});
    }
    pieces_of.push_back(std::move(ids));
  }
}

Value Legaliser::leaf(Value v, int piece, int width) {
  const int first = piece * width;
  const bool counted = v.op == ValueOp::load || v.op == ValueOp::gather;
  if (v.op == ValueOp::reg) v.id = pieces_of[static_cast<size_t>(v.id)][static_cast<size_t>(piece)];
  if (v.op == ValueOp::load) v.index = v.index + first;
  if (v.op == ValueOp::gather || v.op == ValueOp::lane_index) v.index = v.index + first * v.stride;
  if (counted) {
    v.count = std::clamp(v.count - first, 0, width);
    if (v.count == 0) {
      v.op = ValueOp::constant;
      v.id = -1;
      v.index = {};
    }
  }
  v.lanes = width;
  return v;
}

Value make(ValueOp op, const Value& like, std::vector<Value> args) {
  Value v;
  v.op = op;
  v.dtype = like.dtype;
  v.lanes = like.lanes;
  v.args = std::move(args);
  return v;
}

// Operations the dialect does not spell, by others that every dialect spells.
Value Legaliser::lowered(Value v) {
  if (v.op == ValueOp::fma && dialect.find("fma") == nullptr) {
    Value product = make(ValueOp::mul, v, {v.args[0], v.args[1]});
    return make(ValueOp::add, v, {std::move(product), v.args[2]});
  }
  if (v.op == ValueOp::abs && dialect.find("abs") == nullptr)
    return make(ValueOp::max, v, {v.args[0], make(ValueOp::neg, v, {v.args[0]})});
  if (v.op == ValueOp::ceil && dialect.find("ceil") == nullptr)
    return make(ValueOp::neg, v, {make(ValueOp::floor, v, {make(ValueOp::neg, v, {v.args[0]})})});
  if (v.op == ValueOp::load && v.count < v.lanes && dialect.find("load_part") == nullptr) {
    v.op = ValueOp::gather;
    v.stride = 1;
  }
  return v;
}

Value Legaliser::value(const Value& v, int piece, int width) {
  Value out_value = v;
  out_value.args.clear();
  for (const Value& a : v.args) out_value.args.push_back(value(a, piece, width));
  return lowered(leaf(std::move(out_value), piece, width));
}

ir::Block Legaliser::block(const ir::Block& b) {
  ir::Block to;
  for (const ir::Stmt& s : b) std::visit([&](const auto& node) { add(to, node); }, s.node);
  return to;
}

void Legaliser::add(ir::Block& to, const ir::For& s) {
  ir::For copy{s.var, s.limit, s.bounds, s.unroll, block(s.body)};
  to.push_back({std::move(copy)});
}

void Legaliser::add(ir::Block& to, const ir::If& s) {
  to.push_back({ir::If{s.conditions, block(s.then_body), block(s.else_body)}});
}

void Legaliser::add(ir::Block& to, const ir::Assign& s) {
  const auto& pieces = pieces_of[static_cast<size_t>(s.reg)];
  const int width = s.value.lanes / static_cast<int>(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i)
    to.push_back({ir::Assign{pieces[i], value(s.value, static_cast<int>(i), width)}});
}

void Legaliser::add(ir::Block& to, const ir::Declare& s) {
  ir::Declare d;
  for (const int id : s.regs)
    d.regs.insert(d.regs.end(), pieces_of[static_cast<size_t>(id)].begin(),
                  pieces_of[static_cast<size_t>(id)].end());
  to.push_back({std::move(d)});
}

void Legaliser::add(ir::Block& to, const ir::Store& s) {
  const int width = width_for(s.value.lanes, s.value.dtype);
  for (int first = 0, i = 0; first < s.count; first += width, ++i)
    to.push_back({ir::Store{s.id, s.index + first * s.stride, s.stride,
                            std::min(width, s.count - first), s.hint, value(s.value, i, width)}});
}

void Legaliser::add(ir::Block& to, const ir::Keep& s) {
  for (const int id : pieces_of[static_cast<size_t>(s.reg)]) to.push_back({ir::Keep{id}});
}

}  // namespace

Result<ir::Kernel> legalise(const ir::Kernel& kernel, const Dialect& dialect) {
  Legaliser l{kernel, dialect};
  l.out = kernel;
  l.split_registers();
  l.out.body = l.block(kernel.body);
  if (l.unsupported.empty()) return std::move(l.out);
  Diags diags;
  for (const int lanes : l.unsupported)
    diags.push_back(error(fmt::format("kernel '{}': dialect '{}' can not spell vectors of {} lanes",
                                      kernel.name, dialect.name, lanes)));
  return diags;
}

}  // namespace assay::codegen
