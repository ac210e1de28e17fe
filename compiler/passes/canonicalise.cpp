#include "compiler/passes/canonicalise.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

namespace assay::compiler {

namespace {

using ir::ScalarOp;

bool is_read(const ir::Scalar& s, int operand) {
  return s.op == ScalarOp::read && s.operand == operand;
}

// The one axis that indexes a read, by itself and with stride 1; nullopt: not of that form.
std::optional<int> sole_axis(const ir::Read& r) {
  std::optional<int> axis;
  for (const ir::Index& i : r.index) {
    if (i.terms.empty() && i.offset == 0) continue;
    if (i.terms.size() != 1 || i.offset != 0 || axis) return std::nullopt;
    const ir::Term& t = i.terms[0];
    if (t.var < 0 || t.coeff != 1 || t.div != 1 || t.mod != 0) return std::nullopt;
    axis = t.var;
  }
  return axis;
}

struct ScaleShift {                    // body = x * scale[axis] + shift[axis]
  int x = -1, scale = -1, shift = -1;  // reads
  int axis = -1;
};

std::optional<ScaleShift> match_scale_shift(const ir::Graph& g, const ir::Node& n) {
  if (!ir::is_elementwise(n) || n.body.op != ScalarOp::add || n.reads.size() != 3)
    return std::nullopt;
  for (int flip = 0; flip < 2; ++flip) {
    const ir::Scalar& product = n.body.args[static_cast<size_t>(flip)];
    const ir::Scalar& shift = n.body.args[static_cast<size_t>(1 - flip)];
    if (product.op != ScalarOp::mul || shift.op != ScalarOp::read) continue;
    for (int side = 0; side < 2; ++side) {
      const ir::Scalar& x = product.args[static_cast<size_t>(side)];
      const ir::Scalar& scale = product.args[static_cast<size_t>(1 - side)];
      if (x.op != ScalarOp::read || scale.op != ScalarOp::read) continue;
      const auto constant = [&](int read) {
        return g.tensors[static_cast<size_t>(n.reads[static_cast<size_t>(read)].tensor)].constant >=
               0;
      };
      if (constant(x.operand) || !constant(scale.operand) || !constant(shift.operand)) continue;
      const auto a = sole_axis(n.reads[static_cast<size_t>(scale.operand)]);
      const auto b = sole_axis(n.reads[static_cast<size_t>(shift.operand)]);
      if (a && b && *a == *b) return ScaleShift{x.operand, scale.operand, shift.operand, *a};
    }
  }
  return std::nullopt;
}

// Of a sum of products: the read of f32 weights that `axis` indexes, and the dimension it indexes.
std::optional<std::pair<int, int>> scalable_weights(const ir::Graph& g, const ir::Node& n,
                                                    int axis) {
  if (!ir::is_expression(n) || n.combine != ir::Combiner::sum || n.body.op != ScalarOp::mul)
    return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    const int r = static_cast<int>(side);
    if (!is_read(n.body.args[static_cast<size_t>(side)], r) &&
        !is_read(n.body.args[static_cast<size_t>(side)], 1 - r))
      continue;
    const int operand = n.body.args[static_cast<size_t>(side)].operand;
    const ir::Read& read = n.reads[static_cast<size_t>(operand)];
    const ir::Tensor& t = g.tensors[static_cast<size_t>(read.tensor)];
    if (t.constant < 0 || t.dtype != ir::DType::f32) continue;
    for (size_t d = 0; d < read.index.size(); ++d)
      if (read.index[d] == ir::variable(axis)) return std::pair{operand, static_cast<int>(d)};
  }
  return std::nullopt;
}

const float* floats(const ir::Graph& g, int tensor) {
  const int c = g.tensors[static_cast<size_t>(tensor)].constant;
  return reinterpret_cast<const float*>(g.constants[static_cast<size_t>(c)].bytes.data());
}

// A new constant tensor: `weights` times scale[index along dim].
int scaled_weights(ir::Graph& g, int weights, int dim, int scale) {
  ir::Tensor t = g.tensors[static_cast<size_t>(weights)];
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(dim) + 1; d < t.shape.size(); ++d) inner *= t.shape[d];
  const int64_t n = ir::elements(t), extent = t.shape[static_cast<size_t>(dim)];
  ir::Constant c;
  c.bytes.resize(static_cast<size_t>(n) * sizeof(float));
  auto* out = reinterpret_cast<float*>(c.bytes.data());
  const float *w = floats(g, weights), *s = floats(g, scale);
  for (int64_t i = 0; i < n; ++i) out[i] = w[i] * s[i / inner % extent];
  t.name += "_scaled";
  t.constant = static_cast<int>(g.constants.size());
  g.constants.push_back(std::move(c));
  g.tensors.push_back(std::move(t));
  return static_cast<int>(g.tensors.size()) - 1;
}

void fold_scales(ir::Graph& g) {
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const auto match = match_scale_shift(g, g.nodes[i]);
    if (!match) continue;
    const int x = g.nodes[i].reads[static_cast<size_t>(match->x)].tensor;
    const int producer = ir::producer_of(g, x);
    if (producer < 0 || ir::consumers_of(g, x).size() != 1) continue;
    if (std::find(g.outputs.begin(), g.outputs.end(), x) != g.outputs.end()) continue;
    const auto weights = scalable_weights(g, g.nodes[static_cast<size_t>(producer)], match->axis);
    if (!weights) continue;
    const int scale = g.nodes[i].reads[static_cast<size_t>(match->scale)].tensor;
    ir::Read& w = g.nodes[static_cast<size_t>(producer)].reads[static_cast<size_t>(weights->first)];
    w.tensor = scaled_weights(g, w.tensor, weights->second, scale);
    ir::Node& n = g.nodes[i];
    const std::vector<ir::Read> reads = {n.reads[static_cast<size_t>(match->x)],
                                         n.reads[static_cast<size_t>(match->shift)]};
    n.reads = reads;
    n.body = ir::apply(ScalarOp::add, {ir::read(0), ir::read(1)});
    n.op = "bias";
  }
}

}  // namespace

ir::Graph canonicalise(ir::Graph g) {
  fold_scales(g);
  return drop_unread(std::move(g));
}

ir::Graph drop_unread(ir::Graph g) {
  std::set<int> needed(g.outputs.begin(), g.outputs.end());
  std::vector<ir::Node> kept;
  for (size_t i = g.nodes.size(); i-- > 0;) {
    if (!needed.contains(g.nodes[i].output)) continue;
    for (const ir::Read& r : g.nodes[i].reads) needed.insert(r.tensor);
    kept.push_back(std::move(g.nodes[i]));
  }
  std::reverse(kept.begin(), kept.end());
  g.nodes = std::move(kept);
  for (int t : g.inputs) needed.insert(t);
  std::map<int, int> tensor, constant;
  ir::Graph out;
  for (int t : needed) {
    tensor[t] = static_cast<int>(out.tensors.size());
    ir::Tensor copy = g.tensors[static_cast<size_t>(t)];
    if (copy.constant >= 0) {
      const auto [it, fresh] =
          constant.emplace(copy.constant, static_cast<int>(out.constants.size()));
      if (fresh)
        out.constants.push_back(std::move(g.constants[static_cast<size_t>(copy.constant)]));
      copy.constant = it->second;
    }
    out.tensors.push_back(std::move(copy));
  }
  for (ir::Node& n : g.nodes) {
    n.output = tensor.at(n.output);
    for (ir::Read& r : n.reads) r.tensor = tensor.at(r.tensor);
  }
  for (int t : g.inputs) out.inputs.push_back(tensor.at(t));
  for (int t : g.outputs) out.outputs.push_back(tensor.at(t));
  out.name = g.name;
  out.nodes = std::move(g.nodes);
  return out;
}

}  // namespace assay::compiler
