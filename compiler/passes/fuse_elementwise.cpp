#include "compiler/passes/fuse_elementwise.h"

#include <algorithm>
#include <cmath>

#include "compiler/passes/fuse_epilogues.h"
#include "compiler/passes/rewrite.h"
#include "ir/computed_type.h"

namespace assay::compiler {

namespace {

using ir::ScalarOp;

constexpr double kCheapOperations = 2;  // recomputing them costs less than a store and a load

bool only_simple(const ir::Scalar& s) {
  switch (s.op) {
    case ScalarOp::div:
    case ScalarOp::pow:
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::sqrt:
    case ScalarOp::tanh:
    case ScalarOp::erf:
      return false;
    default:
      break;
  }
  return std::all_of(s.args.begin(), s.args.end(), only_simple);
}

bool is_cheap(const ir::Graph& g, const ir::Node& n) {
  const int64_t size = ir::elements(g.tensors[static_cast<size_t>(n.output)]);
  const auto large = std::count_if(n.reads.begin(), n.reads.end(), [&](const ir::Read& r) {
    return 4 * ir::elements(g.tensors[static_cast<size_t>(r.tensor)]) > size;
  });
  return large <= 1 && operations_of(n.body) <= kCheapOperations && only_simple(n.body);
}

// Will node `n` be in the epilogue of a reduction?
bool is_epilogue(const ir::Graph& g, int n) {
  const ir::Node& node = g.nodes[static_cast<size_t>(n)];
  if (!ir::is_elementwise(node)) return false;
  for (const ir::Read& r : node.reads) {
    const int p = ir::producer_of(g, r.tensor);
    if (p < 0 || !can_follow(g, p, n)) continue;
    if (g.nodes[static_cast<size_t>(p)].combine != ir::Combiner::none || is_epilogue(g, p))
      return true;
  }
  return false;
}

bool can_inline(const ir::Graph& g, const ir::Node& reader, const ir::Node& n) {
  const double size = static_cast<double>(ir::elements(g.tensors[static_cast<size_t>(n.output)]));
  return ir::is_expression(reader) && !is_product(reader) && !is_reshape(g, reader) &&
         ir::points_of(reader) <= size;
}

// The readers with the node's body inlined; empty: one of them can not have it.
std::vector<ir::Node> readers_with(const ir::Graph& g, int n, const std::vector<int>& readers) {
  const ir::Node& node = g.nodes[static_cast<size_t>(n)];
  std::vector<ir::Node> out;
  for (int r : readers) {
    const ir::Node& reader = g.nodes[static_cast<size_t>(r)];
    if (!can_inline(g, reader, node)) return {};
    std::optional<ir::Node> with = inlined(reader, node);
    if (!with || ir::computed_in(g, *with) != ir::computed_in(g, reader)) return {};
    out.push_back(std::move(*with));
  }
  return out;
}

bool is_candidate(const ir::Graph& g, int n, const std::vector<int>& readers) {
  const ir::Node& node = g.nodes[static_cast<size_t>(n)];
  if (!ir::is_elementwise(node) || is_output(g, node.output) || readers.empty() ||
      !ir::keeps_value(g, node))
    return false;
  if (is_map(g, node) || is_epilogue(g, n)) return false;  // maps: see fold
  return readers.size() == 1 || is_cheap(g, node);
}

struct Factor {
  ScalarOp op = ScalarOp::mul;
  int value = 0, factor = 1;  // reads of the scaling node
};

// x * f or x / f, where f does not depend on the reduce axes of the product that reads it at `at`.
std::optional<Factor> factor_of(const ir::Graph& g, const ir::Node& scaling,
                                const ir::Node& product, const ir::Read& at) {
  const ScalarOp op = scaling.body.op;
  if (at.lookup || std::any_of(scaling.reads.begin(), scaling.reads.end(),
                               [](const ir::Read& r) { return r.lookup.has_value(); }))
    return std::nullopt;
  if (!ir::is_elementwise(scaling) || scaling.reads.size() != 2 || at.guarded) return std::nullopt;
  if ((op != ScalarOp::mul && op != ScalarOp::div) || scaling.body.args[0].op != ScalarOp::read ||
      scaling.body.args[1].op != ScalarOp::read ||
      scaling.body.args[0].operand == scaling.body.args[1].operand)
    return std::nullopt;
  const std::vector<ir::Range> ranges = ranges_of(product);
  const auto is_invariant = [&](int read) {
    const ir::Read r = composed(scaling.reads[static_cast<size_t>(read)], at.index, ranges);
    for (const ir::Index& i : r.index)
      for (int a = ir::spatial_count(g, product); a < static_cast<int>(product.axes.size()); ++a)
        if (ir::depends_on(i, a)) return false;
    return !r.guarded;
  };
  const int first = scaling.body.args[0].operand, second = scaling.body.args[1].operand;
  if (is_invariant(second)) return Factor{op, first, second};
  if (op == ScalarOp::mul && is_invariant(first)) return Factor{op, second, first};
  return std::nullopt;
}

// Inserts a scaling after the product, which writes the product's former output tensor.
void scale_behind(ir::Graph& g, int product, const ir::Read& factor, ScalarOp op) {
  ir::Node& p = g.nodes[static_cast<size_t>(product)];
  const int rank = ir::spatial_count(g, p);
  ir::Tensor sum = g.tensors[static_cast<size_t>(p.output)];
  sum.name += "_unscaled";
  sum.dtype = ir::computed_in(g, p);
  ir::Node scale;
  scale.name = g.tensors[static_cast<size_t>(p.output)].name + "_scale";
  scale.op = op == ScalarOp::div ? "div" : "mul";
  scale.axes.assign(p.axes.begin(), p.axes.begin() + rank);
  scale.output = p.output;
  p.output = static_cast<int>(g.tensors.size());
  ir::Read self;
  self.tensor = p.output;
  for (int d = 0; d < rank; ++d) self.index.push_back(ir::variable(d));
  scale.reads = {std::move(self), factor};
  scale.body = ir::apply(op, {ir::read(0), ir::read(1)});
  g.tensors.push_back(std::move(sum));
  g.nodes.insert(g.nodes.begin() + product + 1, std::move(scale));
}

// Moves one factor of an operand of product `p` behind it; false: there is none.
bool postpone_one(ir::Graph& g, int p) {
  ir::Node& product = g.nodes[static_cast<size_t>(p)];
  for (size_t r = 0; r < product.reads.size(); ++r) {
    const int s = ir::producer_of(g, product.reads[r].tensor);
    const bool twice =
        product.reads.size() == 2 && product.reads[0].tensor == product.reads[1].tensor;
    if (s < 0 || twice || ir::consumers_of(g, product.reads[r].tensor).size() != 1 ||
        is_output(g, product.reads[r].tensor))
      continue;
    const ir::Node& scaling = g.nodes[static_cast<size_t>(s)];
    const std::optional<Factor> f = factor_of(g, scaling, product, product.reads[r]);
    if (!f || is_epilogue(g, s)) continue;
    const double before = ir::points_of(scaling),
                 behind = static_cast<double>(
                     ir::elements(g.tensors[static_cast<size_t>(product.output)]));
    if (behind > before) continue;
    const std::vector<ir::Range> ranges = ranges_of(product);
    const std::vector<ir::Index> at = product.reads[r].index;
    const ir::Read factor = composed(scaling.reads[static_cast<size_t>(f->factor)], at, ranges);
    product.reads[r] = composed(scaling.reads[static_cast<size_t>(f->value)], at, ranges);
    scale_behind(g, p, factor, f->op);
    g.nodes.erase(g.nodes.begin() + s);
    return true;
  }
  return false;
}

void multiply_by_reciprocals(ir::Scalar& s) {
  const bool smooth = s.op == ScalarOp::exp || s.op == ScalarOp::tanh || s.op == ScalarOp::erf;
  for (ir::Scalar& a : s.args) {
    multiply_by_reciprocals(a);
    if (!smooth || a.op != ScalarOp::div || a.args[1].op != ScalarOp::constant) continue;
    const double reciprocal = 1 / a.args[1].value;
    if (!std::isnormal(static_cast<float>(reciprocal))) continue;
    ir::Scalar x = std::move(a.args[0]);
    a = ir::apply(ScalarOp::mul, {std::move(x), ir::number(reciprocal)});
  }
}

}  // namespace

ir::Graph fuse_elementwise(ir::Graph g) {
  for (int n = 0; n < static_cast<int>(g.nodes.size()); ++n) {
    const std::vector<int> readers = ir::consumers_of(g, g.nodes[static_cast<size_t>(n)].output);
    if (!is_candidate(g, n, readers)) continue;
    std::vector<ir::Node> with = readers_with(g, n, readers);
    if (with.empty()) continue;
    for (size_t i = 0; i < readers.size(); ++i)
      g.nodes[static_cast<size_t>(readers[i])] = std::move(with[i]);
    g.nodes.erase(g.nodes.begin() + n--);
  }
  return g;
}

ir::Graph multiply_by_reciprocals(ir::Graph g) {
  for (ir::Node& n : g.nodes) multiply_by_reciprocals(n.body);
  return g;
}

ir::Graph postpone_factors(ir::Graph g) {
  for (int n = 0; n < static_cast<int>(g.nodes.size()); ++n)
    if (is_product(g.nodes[static_cast<size_t>(n)]))
      while (postpone_one(g, n)) --n;
  return g;
}

}  // namespace assay::compiler
