#include "codegen/legalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "codegen/split_vectors.h"

namespace assay::codegen {
namespace {

using ir::Value;
using ir::ValueOp;

class Legaliser final : public SplitVectors {
 public:
  Legaliser(const ir::Kernel& kernel, const Dialect& dialect)
      : SplitVectors(kernel), dialect_(dialect) {}
  const std::set<int>& unsupported() const { return unsupported_; }

 private:
  Shape shape_of(int lanes, ir::DType dtype) override;
  Value value(const Value& v, int piece) override {
    return piece_of_value(v, piece, shape_of(v.lanes, v.dtype).lanes);
  }
  void add_store(ir::Block& to, const ir::Store& s) override;
  void check_matrix(const ir::MatrixInstruction& i) override {
    if (kernel_.lane >= 0) return;  // each thread has its lane
    for (const ir::Fragment* f : {&i.a, &i.b, &i.c})
      if (shape_of(i.workers(), f->element).pieces != 1) unsupported_.insert(i.workers());
  }
  std::vector<int> widths_of(ir::DType dtype) const;
  Value piece_of_value(const Value& v, int piece, int width);
  Value leaf(Value v, int piece, int width) const;
  Value lowered(Value v) const;

  const Dialect& dialect_;
  std::set<int> unsupported_;
};

// The element type's own widths, or else the dialect's, which count elements of 4 bytes.
std::vector<int> Legaliser::widths_of(ir::DType dtype) const {
  const auto& all = dialect_.capabilities.vector_widths;
  const auto type = dialect_.types.find(dtype);
  std::vector<int> out;
  if (type != dialect_.types.end() && type->second.lanes > 0) {
    for (int w = 1; w <= type->second.lanes; w *= 2) out.push_back(w);
    return out;
  }
  const int words = std::max(1, ir::bytes_of(dtype) / 4);
  const int widest = all.empty() ? 0 : *std::max_element(all.begin(), all.end());
  for (const int w : all)
    if (w == 1 || w * words <= widest) out.push_back(w);
  return out;
}

// The widest one that divides `lanes`.
Legaliser::Shape Legaliser::shape_of(int lanes, ir::DType dtype) {
  int best = 0;
  for (const int w : widths_of(dtype))
    if (w <= lanes && lanes % w == 0) best = std::max(best, w);
  // Pieces of one lane are no vector code, so this is an error.
  if (best == 0 || (best == 1 && lanes > 1)) {
    unsupported_.insert(lanes);
    return {1, lanes};
  }
  return {lanes / best, best};
}

Value Legaliser::leaf(Value v, int piece, int width) const {
  const int first = piece * width;
  const bool counted = v.op == ValueOp::load || v.op == ValueOp::gather;
  if (v.op == ValueOp::reg) v.id = piece_of(v.id, piece);
  if (v.op == ValueOp::load) v.index = v.index + first * v.numbers;
  if (v.op == ValueOp::gather || v.op == ValueOp::lane_index) v.index = v.index + first * v.stride;
  if (counted) {
    v.count = std::clamp(v.count - first, 0, width);
    if (v.count == 0) {
      v.op = ValueOp::constant;
      v.id = -1;
      v.index = {};
      v.numbers = 1;
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

// Replaces operations that the dialect does not spell by ones that every dialect spells.
Value Legaliser::lowered(Value v) const {
  if (v.op == ValueOp::fma && dialect_.find("fma") == nullptr) {
    Value product = make(ValueOp::mul, v, {v.args[0], v.args[1]});
    return make(ValueOp::add, v, {std::move(product), v.args[2]});
  }
  if (v.op == ValueOp::abs && dialect_.find("abs") == nullptr)
    return make(ValueOp::max, v, {v.args[0], make(ValueOp::neg, v, {v.args[0]})});
  if (v.op == ValueOp::ceil && dialect_.find("ceil") == nullptr)
    return make(ValueOp::neg, v, {make(ValueOp::floor, v, {make(ValueOp::neg, v, {v.args[0]})})});
  const char* part = v.numbers > 1 ? "load_packed_part" : "load_part";
  if (v.op == ValueOp::load && v.count < v.lanes && dialect_.find(part) == nullptr) {
    v.op = ValueOp::gather;
    v.stride = v.numbers;
  }
  return v;
}

Value Legaliser::piece_of_value(const Value& v, int piece, int width) {
  Value out = v;
  out.args.clear();
  for (const Value& a : v.args) out.args.push_back(piece_of_value(a, piece, width));
  return lowered(leaf(std::move(out), piece, width));
}

void Legaliser::add_store(ir::Block& to, const ir::Store& s) {
  const int width = shape_of(s.value.lanes, s.value.dtype).lanes;
  for (int first = 0, i = 0; first < s.count; first += width, ++i)
    to.push_back({ir::Store{s.id,
                            s.index + first * s.stride,
                            s.stride,
                            std::min(width, s.count - first),
                            s.hint,
                            piece_of_value(s.value, i, width),
                            {}}});
}

}  // namespace

Result<ir::Kernel> legalise(const ir::Kernel& kernel, const Dialect& dialect) {
  if (kernel.vector_lane >= 0)
    return error(fmt::format("kernel '{}': lanes have addresses and conditions of their own, "
                             "which vectors of dialect '{}' do not",
                             kernel.name, dialect.name),
                 "lanes that are one element, or neighbours");
  Legaliser l{kernel, dialect};
  ir::Kernel out = l.run();
  if (l.unsupported().empty()) return out;
  Diags diags;
  for (const int lanes : l.unsupported())
    diags.push_back(error(fmt::format("kernel '{}': dialect '{}' can not spell vectors of {} lanes",
                                      kernel.name, dialect.name, lanes)));
  return diags;
}

}  // namespace assay::codegen
