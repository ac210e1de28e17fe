#include "toolkit/magnitude.h"

#include <algorithm>
#include <cmath>

#include "ir/computed_type.h"
#include "ir/element.h"
#include "ir/positions.h"

namespace assay::toolkit {
namespace {

using ir::Scalar;
using ir::ScalarOp;

double magnitude(double v) { return std::isfinite(v) ? std::abs(v) : 0; }

// Whole numbers keep their sign until here.
struct Bounder {
  const ir::Graph& graph;
  const ir::Node& node;

  int tensor_of(const Scalar& read) const {
    return node.reads[static_cast<size_t>(read.operand)].tensor;
  }
  // Is it given, so that its magnitude is exact?
  bool is_given(const Scalar& s) const {
    return s.op == ScalarOp::constant ||
           (s.op == ScalarOp::read && ir::producer_of(graph, tensor_of(s)) < 0);
  }
  std::optional<Scalar> combined(ScalarOp op, const Scalar& a, const Scalar& b) const {
    std::optional<Scalar> left = magnitude_of(a), right = magnitude_of(b);
    if (!left || !right) return std::nullopt;
    return ir::apply(op, {std::move(*left), std::move(*right)});
  }
  std::optional<Scalar> magnitude_of(const Scalar& s) const;
};

std::optional<Scalar> Bounder::magnitude_of(const Scalar& s) const {
  switch (s.op) {
    case ScalarOp::read:
      return ir::is_whole(graph.tensors[static_cast<size_t>(tensor_of(s))].dtype)
                 ? ir::apply(ScalarOp::abs, {s})
                 : s;
    case ScalarOp::constant:
      return ir::number(magnitude(s.value));
    case ScalarOp::add:
    case ScalarOp::sub:
      return combined(ScalarOp::add, s.args[0], s.args[1]);
    case ScalarOp::mul:
      return combined(ScalarOp::mul, s.args[0], s.args[1]);
    case ScalarOp::div:
      return is_given(s.args[1]) ? combined(ScalarOp::div, s.args[0], s.args[1]) : std::nullopt;
    case ScalarOp::max:
    case ScalarOp::min:
      return combined(ScalarOp::max, s.args[0], s.args[1]);
    case ScalarOp::select:
      return combined(ScalarOp::max, s.args[1], s.args[2]);
    case ScalarOp::neg:
    case ScalarOp::abs:
      return magnitude_of(s.args[0]);
    default:
      return std::nullopt;
  }
}

// Without the rounding, if sums with whole numbers and limits are all that is behind it.
std::optional<Scalar> unrounded(const Scalar& s) {
  if (s.op == ScalarOp::round) return s.args[0];
  if (s.op == ScalarOp::read || s.op == ScalarOp::constant) return s;
  const bool sum = s.op == ScalarOp::add || s.op == ScalarOp::sub,
             limit = s.op == ScalarOp::max || s.op == ScalarOp::min;
  if (!sum && !limit) return std::nullopt;
  Scalar out = s;
  for (Scalar& a : out.args) {
    std::optional<Scalar> inner = unrounded(a);
    if (!inner) return std::nullopt;
    a = std::move(*inner);
  }
  return out;
}

bool has_round(const Scalar& s) {
  return s.op == ScalarOp::round || std::any_of(s.args.begin(), s.args.end(), has_round);
}

double operations_of(const Scalar& s) {
  double sum = s.args.empty() ? 0 : 1;
  for (const Scalar& a : s.args) sum += operations_of(a);
  return sum;
}

void make_absolute(ir::Constant& c, ir::DType type) {
  std::vector<double> values = ir::doubles_of(type, c.bytes);
  for (double& v : values) v = magnitude(v);
  c.bytes = ir::bytes_of_doubles(type, values);
}

bool is_summed_too(const ir::Graph& graph, const std::vector<char>& position) {
  const auto holds = [&](int tensor) { return position[static_cast<size_t>(tensor)] != 0; };
  bool summed = std::any_of(graph.outputs.begin(), graph.outputs.end(), holds);
  for (const ir::Node& n : graph.nodes)
    ir::each_use(n, [&](int tensor, bool as_position) {
      summed = summed || (holds(tensor) && !as_position && !holds(n.output));
    });
  return summed;
}

}  // namespace

std::vector<std::vector<float>> magnitudes_of(const ir::Graph& graph,
                                              std::vector<std::vector<float>> inputs) {
  const std::vector<char> position = ir::positions_of(graph);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto t = static_cast<size_t>(graph.inputs[i]);
        position[t] == 0 && !ir::is_whole(graph.tensors[t].dtype))
      for (float& v : inputs[i]) v = static_cast<float>(magnitude(static_cast<double>(v)));
  return inputs;
}

std::optional<ir::Graph> unrounded_graph(const ir::Graph& graph) {
  ir::Graph out = graph;
  for (ir::Node& n : out.nodes) {
    if (ir::computed_in(graph, n) == ir::DType::i32) continue;
    ir::Tensor& result = out.tensors[static_cast<size_t>(n.output)];
    if (!ir::is_whole(result.dtype)) {
      if (has_round(n.body)) return std::nullopt;
      continue;
    }
    if (!ir::consumers_of(graph, n.output).empty()) return std::nullopt;
    result.dtype = ir::DType::f32;
    if (!has_round(n.body)) continue;
    std::optional<Scalar> body = unrounded(n.body);
    if (!body) return std::nullopt;
    n.body = std::move(*body);
  }
  return out;
}

std::optional<ir::Graph> magnitude_graph(const ir::Graph& graph) {
  std::optional<ir::Graph> plain = unrounded_graph(graph);
  const std::vector<char> position = ir::positions_of(graph);
  if (!plain || is_summed_too(graph, position)) return std::nullopt;
  ir::Graph out = std::move(*plain);
  for (ir::Node& n : out.nodes) {
    if (position[static_cast<size_t>(n.output)] != 0) continue;
    if (ir::computed_in(out, n) == ir::DType::i32) continue;  // it is exact
    std::optional<Scalar> body = Bounder{out, n}.magnitude_of(n.body);
    if (!body || std::holds_alternative<ir::Sort>(n.kind) ||
        std::holds_alternative<ir::TupleReduction>(n.kind))
      return std::nullopt;
    n.body = std::move(*body);
    if (n.combine == ir::Combiner::min) n.combine = ir::Combiner::max;
    for (size_t r = 0; r < n.reads.size(); ++r)
      if (ir::is_used(n, static_cast<int>(r))) n.reads[r].fill = magnitude(n.reads[r].fill);
  }
  std::vector<char> done(out.constants.size(), 0);
  for (size_t i = 0; i < out.tensors.size(); ++i) {
    const ir::Tensor& t = out.tensors[i];
    if (t.constant < 0 || position[i] != 0 || ir::is_whole(t.dtype) ||
        done[static_cast<size_t>(t.constant)])
      continue;
    done[static_cast<size_t>(t.constant)] = 1;
    make_absolute(out.constants[static_cast<size_t>(t.constant)], t.dtype);
  }
  return out;
}

double terms_of(const ir::Graph& graph) {
  double sum = 0;
  for (const ir::Node& n : graph.nodes) {
    if (ir::computed_in(graph, n) == ir::DType::i32) continue;  // it is exact
    double length = 1;
    const auto* scan = std::get_if<ir::Scan>(&n.kind);
    for (size_t a = 0; a < n.axes.size(); ++a)
      if (ir::is_reduce(graph, n, static_cast<int>(a)) ||
          (scan != nullptr && scan->axis == static_cast<int>(a)))
        length *= static_cast<double>(n.axes[a].extent);
    const auto* tuple = std::get_if<ir::TupleReduction>(&n.kind);
    sum += length + (tuple == nullptr
                         ? operations_of(n.body)
                         : static_cast<double>(ir::operations_in(ir::steps_of(*tuple)).size()));
  }
  return sum;
}

}  // namespace assay::toolkit
