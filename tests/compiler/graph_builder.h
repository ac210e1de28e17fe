// Builds small graphs node by node, in the forms that the importer emits.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/compiler/plan_runner.h"

namespace assay::test {

using Shape = std::vector<int64_t>;

struct Builder {
  ir::Graph g;

  const Shape& shape(int t) const { return g.tensors[static_cast<size_t>(t)].shape; }

  int tensor(const std::string& name, Shape s) {
    g.tensors.push_back({name, ir::DType::f32, std::move(s), -1});
    return static_cast<int>(g.tensors.size()) - 1;
  }
  int input(Shape s) {
    g.inputs.push_back(tensor("in" + std::to_string(g.inputs.size()), std::move(s)));
    return g.inputs.back();
  }
  int weights(Shape s, std::mt19937& rng) {
    const int id = tensor("w" + std::to_string(g.tensors.size()), std::move(s));
    ir::Tensor& t = g.tensors[static_cast<size_t>(id)];
    t.constant = static_cast<int>(g.constants.size());
    const Floats v = random_floats(rng, ir::elements(t));
    const auto* bytes = reinterpret_cast<const std::byte*>(v.data());
    g.constants.push_back({{bytes, bytes + v.size() * sizeof(float)}});
    return id;
  }
  int node(const std::string& op, Shape to, std::vector<int64_t> reduce,
           std::vector<ir::Read> reads, ir::Scalar body,
           ir::Combiner combine = ir::Combiner::none) {
    ir::Node n;
    n.op = op;
    n.name = op + std::to_string(g.nodes.size());
    for (size_t d = 0; d < to.size(); ++d) n.axes.push_back({"i" + std::to_string(d), to[d]});
    for (size_t d = 0; d < reduce.size(); ++d)
      n.axes.push_back({"k" + std::to_string(d), reduce[d]});
    n.reads = std::move(reads);
    n.body = std::move(body);
    n.combine = combine;
    n.output = tensor(n.name, std::move(to));
    g.nodes.push_back(std::move(n));
    return g.nodes.back().output;
  }
  std::vector<ir::Index> own(size_t rank) const {
    std::vector<ir::Index> out;
    for (size_t d = 0; d < rank; ++d) out.push_back(ir::variable(static_cast<int>(d)));
    return out;
  }
  static ir::Read at(int t, std::vector<ir::Index> index) {
    return {t, std::move(index), false, 0};
  }

  // Rows of x times weights of its own.
  int product(int x, int64_t columns, std::mt19937& rng) {
    const int64_t rows = shape(x)[0], depth = shape(x)[1];
    const int w = weights({depth, columns}, rng);
    return node(
        "matmul", {rows, columns}, {depth},
        {at(x, {ir::variable(0), ir::variable(2)}), at(w, {ir::variable(2), ir::variable(1)})},
        ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum);
  }
  int reshape(int x, Shape to) {
    std::vector<ir::Range> ranges;
    for (int64_t e : to) ranges.push_back({0, e - 1});
    ir::Index flat;
    int64_t stride = 1;
    for (size_t d = to.size(); d-- > 0; stride *= to[d])
      flat = flat + ir::variable(static_cast<int>(d), stride);
    std::vector<ir::Index> index(shape(x).size());
    stride = 1;
    for (size_t d = index.size(); d-- > 0; stride *= shape(x)[d])
      index[d] =
          ir::simplify(ir::modulo(ir::divide(flat, stride, ranges), shape(x)[d], ranges), ranges);
    return node("reshape", std::move(to), {}, {at(x, std::move(index))}, ir::read(0));
  }
  int transpose(int x, const std::vector<int>& order) {
    Shape to;
    std::vector<ir::Index> index(order.size());
    for (size_t d = 0; d < order.size(); ++d) {
      to.push_back(shape(x)[static_cast<size_t>(order[d])]);
      index[static_cast<size_t>(order[d])] = ir::variable(static_cast<int>(d));
    }
    return node("transpose", std::move(to), {}, {at(x, std::move(index))}, ir::read(0));
  }
  int slice(int x, size_t dim, int64_t start, int64_t step, int64_t count) {
    Shape to = shape(x);
    std::vector<ir::Index> index = own(to.size());
    to[dim] = count;
    index[dim] = ir::variable(static_cast<int>(dim), step) + start;
    return node("slice", std::move(to), {}, {at(x, std::move(index))}, ir::read(0));
  }
  // x op y, y aligned at the right with ones read at 0.
  int binary(ir::ScalarOp op, int x, int y) {
    const Shape to = shape(x), from = shape(y);
    std::vector<ir::Index> index;
    for (size_t d = 0; d < from.size(); ++d) {
      const size_t a = to.size() - from.size() + d;
      index.push_back(from[d] == 1 ? ir::constant(0) : ir::variable(static_cast<int>(a)));
    }
    return node("binary", to, {}, {at(x, own(to.size())), at(y, std::move(index))},
                ir::apply(op, {ir::read(0), ir::read(1)}));
  }
  // Rows of x along `dim` at the positions that `ids` holds, [..] -> [.., others].
  int gather(int x, size_t dim, int ids) {
    Shape to = shape(ids);
    std::vector<ir::Index> index;
    for (size_t d = 0; d < shape(x).size(); ++d) {
      index.push_back(d == dim ? ir::constant(0) : ir::variable(static_cast<int>(to.size())));
      if (d != dim) to.push_back(shape(x)[d]);
    }
    ir::Read table = at(x, std::move(index));
    table.lookup = ir::Lookup{static_cast<int>(dim), 1};
    return node("gather", to, {}, {std::move(table), at(ids, own(shape(ids).size()))}, ir::read(0));
  }
  // x and y, of one shape, one after the other along `dim`.
  int concat(int x, int y, size_t dim) {
    Shape to = shape(x);
    ir::Read first = at(x, own(to.size())), second = at(y, own(to.size()));
    second.index[dim] = second.index[dim] + -to[dim];
    first.guarded = second.guarded = true;
    to[dim] *= 2;
    return node("concat", to, {}, {std::move(first), std::move(second)},
                ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)}));
  }
  int scaled(int x, double by) {
    return node("scale", shape(x), {}, {at(x, own(shape(x).size()))},
                ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::number(by)}));
  }
  // x where the position along `dim` is below `bound`, else 0.
  int below(int x, int dim, double bound) {
    ir::Scalar position = ir::apply(ir::ScalarOp::axis, {});
    position.operand = dim;
    ir::Scalar test = ir::apply(ir::ScalarOp::less, {std::move(position), ir::number(bound)});
    return node("below", shape(x), {}, {at(x, own(shape(x).size()))},
                ir::apply(ir::ScalarOp::select, {std::move(test), ir::read(0), ir::number(0)}));
  }
  int unary(ir::ScalarOp op, int x) {
    return node("unary", shape(x), {}, {at(x, own(shape(x).size()))}, ir::apply(op, {ir::read(0)}));
  }
  // Over the last dimension, which is kept with extent 1.
  int reduce(ir::Combiner c, int x) {
    Shape to = shape(x);
    std::vector<ir::Index> index = own(to.size());
    const int64_t k = to.back();
    to.back() = 1;
    index.back() = ir::variable(static_cast<int>(to.size()));
    return node("reduce", to, {k}, {at(x, std::move(index))}, ir::read(0), c);
  }
  // [.., m, k] x [.., k, n], or [k, n] for all.
  int matmul(int a, int b) {
    Shape to = shape(a);
    const int64_t k = to.back();
    to.back() = shape(b).back();
    const int reduced = static_cast<int>(to.size());
    std::vector<ir::Index> left = own(to.size()), right = own(to.size());
    left.back() = right[right.size() - 2] = ir::variable(reduced);
    right.erase(right.begin(), right.begin() + static_cast<ptrdiff_t>(to.size() - shape(b).size()));
    return node("matmul", to, {k}, {at(a, std::move(left)), at(b, std::move(right))},
                ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum);
  }
};

// Do both graphs compute the same outputs?
inline void expect_same_values(const ir::Graph& g, const ir::Graph& rewritten,
                               const std::vector<Floats>& inputs) {
  const auto want = ir::evaluate(g, inputs), got = ir::evaluate(rewritten, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  for (size_t o = 0; o < g.outputs.size(); ++o) {
    const auto &w = (*want)[static_cast<size_t>(g.outputs[o])],
               &v = (*got)[static_cast<size_t>(rewritten.outputs[o])];
    ASSERT_EQ(w.size(), v.size());
    for (size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(w[i], v[i], 1e-9 * (1 + std::abs(w[i])));
  }
}

}  // namespace assay::test
