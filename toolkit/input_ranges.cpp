#include "toolkit/input_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/element.h"

namespace assay::toolkit {
namespace {

using ir::Range;
using ir::Scalar;
using ir::ScalarOp;

constexpr int64_t kSmall = 8;
constexpr int64_t kExact = int64_t{1} << 24;  // inputs are f32

std::optional<double> number_of(const Scalar& s) {
  return s.op == ScalarOp::constant ? std::optional(s.value) : std::nullopt;
}

// The operand of x < 0 ? x + n : x, a position that may count from the end.
const Scalar* wrapped_position(const Scalar& s) {
  if (s.op != ScalarOp::select || s.args[0].op != ScalarOp::less) return nullptr;
  const Scalar& x = s.args[2];
  const bool wraps = s.args[0].args[0] == x && number_of(s.args[0].args[1]) == 0.0 &&
                     s.args[1].op == ScalarOp::add && s.args[1].args[0] == x;
  return wraps ? &x : nullptr;
}

// What the readers of a tensor allow.
struct Use {
  Range range;
  bool position = false;  // so it holds integers, whatever its type
};

class Uses {
 public:
  explicit Uses(const ir::Graph& g) : g_(g), of_(g.tensors.size()) {
    for (size_t i = g.nodes.size(); i-- > 0;) {
      const ir::Node& n = g.nodes[i];
      for (const ir::Read& r : n.reads)
        if (r.lookup) narrow(n, r.lookup->read, extent_of(r.tensor, r.lookup->dim));
      if (const auto* scatter = std::get_if<ir::Scatter>(&n.kind))
        for (const ir::Position& p : scatter->positions)
          narrow(n, p.read, extent_of(n.output, p.dim));
      look_for_uses(n, n.body);
      if (const auto& known = of_[static_cast<size_t>(n.output)]; known && ir::is_elementwise(n))
        allow(n, n.body, *known);
    }
  }

  const std::optional<Use>& of(int tensor) const { return of_[static_cast<size_t>(tensor)]; }

 private:
  Use extent_of(int tensor, int dim) const {
    const auto& shape = g_.tensors[static_cast<size_t>(tensor)].shape;
    return {{0, shape[static_cast<size_t>(dim)] - 1}, true};
  }

  void narrow(const ir::Node& n, int read, Use to) {
    auto& known = of_[static_cast<size_t>(n.reads[static_cast<size_t>(read)].tensor)];
    if (!known) {
      known = to;
      return;
    }
    const Range both{std::max(known->range.low, to.range.low),
                     std::min(known->range.high, to.range.high)};
    if (both.low <= both.high) known->range = both;
    known->position = known->position || to.position;
  }

  // Expressions anywhere in the body that say what their operands are.
  void look_for_uses(const ir::Node& n, const Scalar& s) {
    if (s.op == ScalarOp::equal)
      for (size_t i = 0; i < 2; ++i)
        if (const Scalar& axis = s.args[1 - i]; axis.op == ScalarOp::axis)
          allow(n, s.args[i], {{0, n.axes[static_cast<size_t>(axis.operand)].extent - 1}, true});
    if (s.op == ScalarOp::sub && number_of(s.args[0]) == 1.0) allow(n, s.args[1], {{0, 1}});
    if (s.op == ScalarOp::div) allow(n, s.args[1], {{1, kSmall}});
    for (const Scalar& a : s.args) look_for_uses(n, a);
  }

  // `s` may be anything in the range: what may the reads in it be?
  void allow(const ir::Node& n, const Scalar& s, Use to) {
    if (s.op == ScalarOp::read) return narrow(n, s.operand, to);
    if (const Scalar* x = wrapped_position(s)) return allow(n, *x, to);
    if (s.op == ScalarOp::select) {
      allow(n, s.args[1], to);
      allow(n, s.args[2], to);
    }
    if (s.op == ScalarOp::max || s.op == ScalarOp::min)
      for (const Scalar& a : s.args) allow(n, a, to);
    if (s.op != ScalarOp::add && s.op != ScalarOp::sub) return;
    const std::optional<double> b = number_of(s.args[1]);
    if (!b || !(std::abs(*b) <= static_cast<double>(kExact))) return;
    const auto shift = static_cast<int64_t>(s.op == ScalarOp::add ? *b : -*b);
    allow(n, s.args[0], {{to.range.low - shift, to.range.high - shift}, to.position});
  }

  const ir::Graph& g_;
  std::vector<std::optional<Use>> of_;  // per tensor
};

Range of_type(ir::DType t) {
  switch (t) {
    case ir::DType::boolean:
      return {0, 1};
    case ir::DType::i8:
      return {-128, 127};
    case ir::DType::u8:
      return {0, 255};
    default:
      return {-kExact, kExact};
  }
}

Range clamped(Range r, Range to) {
  const Range both{std::max(r.low, to.low), std::min(r.high, to.high)};
  return both.low <= both.high ? both : to;
}

}  // namespace

std::vector<std::optional<Range>> input_ranges(const ir::Graph& graph) {
  const Uses uses(graph);
  std::vector<std::optional<Range>> out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const int id = graph.inputs[i];
    const ir::DType type = graph.input_types.empty() ? graph.tensors[static_cast<size_t>(id)].dtype
                                                     : graph.input_types[i];
    const std::optional<Use>& use = uses.of(id);
    if (!ir::is_integer(type) && !(use && use->position)) {
      out.emplace_back();
      continue;
    }
    const ir::DType stored = graph.tensors[static_cast<size_t>(id)].dtype;
    const bool bytes = stored == ir::DType::i8 || stored == ir::DType::u8;
    const Range used = use ? use->range : bytes ? of_type(stored) : Range{-kSmall, kSmall};
    out.emplace_back(clamped(used, of_type(type)));
  }
  return out;
}

std::vector<std::string> describe_inputs(const ir::Graph& graph) {
  const std::vector<std::optional<Range>> ranges = input_ranges(graph);
  std::vector<std::string> out;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::string& name = graph.tensors[static_cast<size_t>(graph.inputs[i])].name;
    if (!ranges[i])
      out.push_back(name + ": uniform in (-1, 1)");
    else if (ranges[i]->low == 0)
      out.push_back(fmt::format("{}: uniform integers in [0, {})", name, ranges[i]->high + 1));
    else
      out.push_back(
          fmt::format("{}: uniform integers in [{}, {}]", name, ranges[i]->low, ranges[i]->high));
  }
  return out;
}

}  // namespace assay::toolkit
