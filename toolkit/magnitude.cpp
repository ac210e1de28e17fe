#include "toolkit/magnitude.h"

#include <cmath>

#include "ir/element.h"

namespace assay::toolkit {
namespace {

using ir::Scalar;
using ir::ScalarOp;

std::optional<Scalar> magnitude_of(const Scalar& s);

std::optional<Scalar> combined(ScalarOp op, const Scalar& a, const Scalar& b) {
  std::optional<Scalar> left = magnitude_of(a), right = magnitude_of(b);
  if (!left || !right) return std::nullopt;
  return ir::apply(op, {std::move(*left), std::move(*right)});
}

std::optional<Scalar> magnitude_of(const Scalar& s) {
  switch (s.op) {
    case ScalarOp::read:
      return s;
    case ScalarOp::constant:
      return ir::number(std::isfinite(s.value) ? std::abs(s.value) : 0);
    case ScalarOp::add:
    case ScalarOp::sub:
      return combined(ScalarOp::add, s.args[0], s.args[1]);
    case ScalarOp::mul:
      return combined(ScalarOp::mul, s.args[0], s.args[1]);
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

double operations_of(const Scalar& s) {
  double sum = s.args.empty() ? 0 : 1;
  for (const Scalar& a : s.args) sum += operations_of(a);
  return sum;
}

// Floats only: other constants are conditions and addresses, which are not summed.
void make_absolute(ir::Constant& c, ir::DType type) {
  std::vector<double> values = ir::doubles_of(type, c.bytes);
  for (double& v : values) v = std::abs(v);
  c.bytes = ir::bytes_of_doubles(type, values);
}

}  // namespace

std::optional<ir::Graph> magnitude_graph(const ir::Graph& graph) {
  ir::Graph out = graph;
  for (ir::Node& n : out.nodes) {
    std::optional<Scalar> body = magnitude_of(n.body);
    if (!body) return std::nullopt;
    n.body = std::move(*body);
    if (n.combine == ir::Combiner::min) n.combine = ir::Combiner::max;
    for (ir::Read& r : n.reads) r.fill = std::isfinite(r.fill) ? std::abs(r.fill) : 0;
  }
  std::vector<char> done(out.constants.size(), 0);
  for (const ir::Tensor& t : out.tensors) {
    if (t.constant < 0 || done[static_cast<size_t>(t.constant)]) continue;
    done[static_cast<size_t>(t.constant)] = 1;
    make_absolute(out.constants[static_cast<size_t>(t.constant)], t.dtype);
  }
  return out;
}

double terms_of(const ir::Graph& graph) {
  double sum = 0;
  for (const ir::Node& n : graph.nodes) {
    double length = 1;
    for (size_t a = 0; a < n.axes.size(); ++a)
      if (ir::is_reduce(graph, n, static_cast<int>(a)))
        length *= static_cast<double>(n.axes[a].extent);
    sum += length + operations_of(n.body);
  }
  return sum;
}

}  // namespace assay::toolkit
