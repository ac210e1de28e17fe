#include "ir/computed_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::ir {
namespace {

DType type_of(const Graph& g, int tensor) { return g.tensors[static_cast<size_t>(tensor)].dtype; }

bool is_whole_number(double v) { return std::abs(v) < 0x1p31 && v == std::trunc(v); }

bool has_whole_body(const Scalar& s) {
  switch (s.op) {
    case ScalarOp::constant:
      return is_whole_number(s.value);
    case ScalarOp::read:
    case ScalarOp::axis:
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::neg:
    case ScalarOp::max:
    case ScalarOp::min:
    case ScalarOp::less:
    case ScalarOp::equal:
    case ScalarOp::select:
      return std::all_of(s.args.begin(), s.args.end(), has_whole_body);
    default:
      return false;
  }
}

// The largest magnitude of a value, -1: unknown.
double most(const Graph& g, const Node& n, const Scalar& s) {
  if (s.op == ScalarOp::constant) return std::abs(s.value);
  if (s.op == ScalarOp::read) {
    const DType t = type_of(g, n.reads[static_cast<size_t>(s.operand)].tensor);
    return t == DType::i8 ? 128 : t == DType::u8 ? 255 : -1;
  }
  if (s.op != ScalarOp::mul && s.op != ScalarOp::add && s.op != ScalarOp::sub) return -1;
  const double a = most(g, n, s.args[0]), b = most(g, n, s.args[1]);
  if (a < 0 || b < 0) return -1;
  return s.op == ScalarOp::mul ? a * b : a + b;
}

}  // namespace

bool is_whole(DType t) { return t == DType::i8 || t == DType::u8 || t == DType::i32; }

DType computed_in(const Graph& g, const Node& n) {
  if (!is_expression(n) || n.combine == Combiner::product || !is_whole(type_of(g, n.output)))
    return DType::f32;
  for (size_t r = 0; r < n.reads.size(); ++r) {
    const Read& read = n.reads[r];
    if (!is_used(n, static_cast<int>(r))) continue;
    const bool fills = read.guarded || read.lookup;
    if (!is_whole(type_of(g, read.tensor)) || (fills && !is_whole_number(read.fill)))
      return DType::f32;
  }
  return has_whole_body(n.body) ? DType::i32 : DType::f32;
}

bool keeps_value(const Graph& g, const Node& n) {
  const DType t = type_of(g, n.output);
  return !is_whole(t) || (t == DType::i32 && computed_in(g, n) == DType::i32);
}

std::optional<int64_t> exact_terms(const Graph& g, const Node& n) {
  if (n.combine != Combiner::sum || computed_in(g, n) != DType::i32) return std::nullopt;
  const double term = most(g, n, n.body);
  if (term <= 0) return std::nullopt;
  return static_cast<int64_t>(std::floor(2147483647.0 / term));
}

Diags overflow_notes(const Graph& g) {
  Diags out;
  for (const Node& n : g.nodes) {
    const std::optional<int64_t> longest = exact_terms(g, n);
    if (!longest) continue;
    int64_t terms = 1;
    for (int a = spatial_count(g, n); a < static_cast<int>(n.axes.size()); ++a)
      terms *= n.axes[static_cast<size_t>(a)].extent;
    if (terms <= *longest) continue;
    Diag note =
        error(fmt::format("node {}: sums of {} terms in i32 may overflow: they may from {} "
                          "terms on",
                          n.name, terms, *longest + 1));
    note.severity = Severity::note;
    out.push_back(std::move(note));
  }
  return out;
}

}  // namespace assay::ir
