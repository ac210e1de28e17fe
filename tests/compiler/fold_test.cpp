// The passes that make nodes disappear keep what a graph computes: every plan here is run by the
// interpreter, storage shared as it was placed, and held against the graph as it was given.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "../lower/problems.h"
#include "codegen/interpret.h"
#include "compiler/absorb.h"
#include "compiler/compile.h"
#include "compiler/fold.h"
#include "compiler/lift.h"
#include "compiler/rewrite.h"
#include "compiler/simplify.h"
#include "lower/lower.h"

namespace assay::test {
namespace {

using Floats = std::vector<float>;
using Shape = std::vector<int64_t>;

Floats random_floats(std::mt19937& rng, int64_t n) {
  std::uniform_real_distribution<float> d(-1, 1);
  Floats v(static_cast<size_t>(n));
  for (float& x : v) x = d(rng);
  return v;
}

// One arena and one block of weights, as the runtime has them.
struct Memory {
  Floats arena, weights;

  float* at(const ir::PlanTensor& t) {
    return (t.kind == ir::TensorKind::constant ? weights : arena).data() + t.offset / int64_t{sizeof(float)};
  }
};

void write(Memory& m, const ir::PlanTensor& t, const float* values) {
  each_element(t.layout, t.shape, [&](size_t from, size_t to) { m.at(t)[to] = values[from]; });
}

void run_step(Memory& m, const compiler::Compiled& c, const ir::Step& step, const hwdesc::Target& target) {
  const ir::Program& p = c.plan.programs[static_cast<size_t>(step.program)];
  const Result<ir::Kernel> kernel = lower::lower(p, target);
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  std::vector<Floats> buffers;
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const ir::PlanTensor& t = c.plan.tensors[static_cast<size_t>(step.arguments[i])];
    const float* from = m.at(t);
    buffers.emplace_back(from, from + kernel->buffers[i].elements);
  }
  const auto ran = codegen::interpret(*kernel, buffers);
  ASSERT_TRUE(ran.ok()) << render(ran.diags());
  std::copy(buffers.back().begin(), buffers.back().end(), m.at(c.plan.tensors[static_cast<size_t>(step.arguments.back())]));
}

// Values of the graph's outputs, by its plan.
std::vector<Floats> run_plan(const compiler::Compiled& c, const ir::Graph& g, const hwdesc::Target& target, const std::vector<Floats>& inputs) {
  Memory m{Floats(static_cast<size_t>(c.plan.arena_bytes) / sizeof(float), std::nanf("")),
           Floats(static_cast<size_t>(c.plan.weights_bytes) / sizeof(float), 0)};
  const auto find = [&](int id, ir::TensorKind kind) -> const ir::PlanTensor& {
    for (const ir::PlanTensor& t : c.plan.tensors)
      if (t.kind == kind && t.name == g.tensors[static_cast<size_t>(id)].name) return t;
    throw std::runtime_error("no tensor " + g.tensors[static_cast<size_t>(id)].name);
  };
  for (size_t t = 0; t < c.plan.tensors.size(); ++t) {
    const ir::PlanTensor& tensor = c.plan.tensors[t];
    if (tensor.zeroed) std::fill_n(m.at(tensor), tensor.bytes / int64_t{sizeof(float)}, 0.0F);
    if (tensor.kind == ir::TensorKind::constant) write(m, tensor, reinterpret_cast<const float*>(c.constants[t].bytes.data()));
  }
  for (size_t i = 0; i < g.inputs.size(); ++i) write(m, find(g.inputs[i], ir::TensorKind::input), inputs[i].data());
  for (const ir::Step& s : c.plan.steps) run_step(m, c, s, target);
  std::vector<Floats> out;
  for (int o : g.outputs) {
    const ir::PlanTensor& t = find(o, ir::TensorKind::output);
    EXPECT_EQ(t.shape, g.tensors[static_cast<size_t>(o)].shape);
    Floats v(static_cast<size_t>(ir::elements(g.tensors[static_cast<size_t>(o)])));
    each_element(t.layout, t.shape, [&](size_t to, size_t from) { v[to] = m.at(t)[from]; });
    out.push_back(std::move(v));
  }
  return out;
}

// Compiles, runs and compares with the graph's own values; returns the plan.
ir::Plan check(const ir::Graph& g, std::mt19937& rng, int width = 8) {
  const Diags faults = ir::verify(g);
  EXPECT_EQ(render(faults), "");
  if (!faults.empty()) return {};
  const hwdesc::Target target = small_cpu(width, 2);
  const auto c = compiler::compile(g, target, {});
  EXPECT_TRUE(c.ok()) << render(c.diags());
  if (!c.ok()) return {};
  EXPECT_EQ(render(ir::verify(c->plan)), "");
  std::vector<Floats> inputs;
  for (int t : g.inputs) inputs.push_back(random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
  const auto want = ir::evaluate(g, inputs);
  EXPECT_TRUE(want.ok()) << render(want.diags());
  const std::vector<Floats> got = run_plan(*c, g, target, inputs);
  for (size_t o = 0; o < got.size(); ++o) {
    const std::vector<double>& w = (*want)[static_cast<size_t>(g.outputs[o])];
    double worst = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      const double d = std::abs(static_cast<double>(got[o][i]) - w[i]) / (1 + std::abs(w[i]));
      worst = d <= worst ? worst : std::isnan(d) ? 1e30 : d;
    }
    EXPECT_LT(worst, 2e-5) << ir::print_graph(g);
  }
  return c->plan;
}

// Nodes as the importer makes them, one after the other.
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
  int node(const std::string& op, Shape to, std::vector<int64_t> reduce, std::vector<ir::Read> reads, ir::Scalar body,
           ir::Combiner combine = ir::Combiner::none) {
    ir::Node n;
    n.op = op;
    n.name = op + std::to_string(g.nodes.size());
    for (size_t d = 0; d < to.size(); ++d) n.axes.push_back({"i" + std::to_string(d), to[d]});
    for (size_t d = 0; d < reduce.size(); ++d) n.axes.push_back({"k" + std::to_string(d), reduce[d]});
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
  static ir::Read at(int t, std::vector<ir::Index> index) { return {t, std::move(index), false, 0}; }

  int reshape(int x, Shape to) {
    std::vector<ir::Range> ranges;
    for (int64_t e : to) ranges.push_back({0, e - 1});
    ir::Index flat;
    int64_t stride = 1;
    for (size_t d = to.size(); d-- > 0; stride *= to[d]) flat = flat + ir::variable(static_cast<int>(d), stride);
    std::vector<ir::Index> index(shape(x).size());
    stride = 1;
    for (size_t d = index.size(); d-- > 0; stride *= shape(x)[d])
      index[d] = ir::simplify(ir::modulo(ir::divide(flat, stride, ranges), shape(x)[d], ranges), ranges);
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
    return node("binary", to, {}, {at(x, own(to.size())), at(y, std::move(index))}, ir::apply(op, {ir::read(0), ir::read(1)}));
  }
  // Rows of x along `dim` at the places that `ids` holds, [..] -> [.., others].
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
    return node("concat", to, {}, {std::move(first), std::move(second)}, ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)}));
  }
  int scaled(int x, double by) {
    return node("scale", shape(x), {}, {at(x, own(shape(x).size()))}, ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::number(by)}));
  }
  // x where the position along `dim` is below `bound`, else 0.
  int below(int x, int dim, double bound) {
    ir::Scalar place = ir::apply(ir::ScalarOp::axis, {});
    place.operand = dim;
    ir::Scalar test = ir::apply(ir::ScalarOp::less, {std::move(place), ir::number(bound)});
    return node("below", shape(x), {}, {at(x, own(shape(x).size()))}, ir::apply(ir::ScalarOp::select, {std::move(test), ir::read(0), ir::number(0)}));
  }
  int unary(ir::ScalarOp op, int x) { return node("unary", shape(x), {}, {at(x, own(shape(x).size()))}, ir::apply(op, {ir::read(0)})); }
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

int steps_of(const ir::Plan& p, const std::string& op) {
  return static_cast<int>(std::count_if(p.steps.begin(), p.steps.end(), [&](const ir::Step& s) {
    return p.programs[static_cast<size_t>(s.program)].graph.nodes[0].op == op;
  }));
}

// Self-attention of `heads` heads over `tokens` rows, as exporters write it.
int attention(Builder& b, int x, int64_t heads, std::mt19937& rng) {
  const int64_t tokens = b.shape(x)[1], hidden = b.shape(x)[2], size = hidden / heads;
  const auto linear = [&](int from) { return b.binary(ir::ScalarOp::add, b.matmul(from, b.weights({hidden, hidden}, rng)), b.weights({hidden}, rng)); };
  const auto head = [&](std::vector<int> order) { return b.transpose(b.reshape(linear(x), {1, tokens, heads, size}), order); };
  const int q = head({0, 2, 1, 3}), k = head({0, 2, 3, 1}), v = head({0, 2, 1, 3});
  const int scores = b.matmul(q, k);
  const int powers = b.unary(ir::ScalarOp::exp, b.binary(ir::ScalarOp::sub, scores, b.reduce(ir::Combiner::max, scores)));
  const int weights = b.binary(ir::ScalarOp::div, powers, b.reduce(ir::Combiner::sum, powers));
  const int context = b.reshape(b.transpose(b.matmul(weights, v), {0, 2, 1, 3}), {1, tokens, hidden});
  return b.binary(ir::ScalarOp::add, linear(context), x);
}

int layer_norm(Builder& b, int x, std::mt19937& rng) {
  const int64_t n = b.shape(x).back();
  const int centred = b.binary(ir::ScalarOp::sub, x, b.reduce(ir::Combiner::sum, x));
  const int squares = b.binary(ir::ScalarOp::mul, centred, centred);
  const int deviation = b.unary(ir::ScalarOp::sqrt, b.reduce(ir::Combiner::sum, squares));
  const int normal = b.binary(ir::ScalarOp::div, centred, deviation);
  return b.binary(ir::ScalarOp::add, b.binary(ir::ScalarOp::mul, normal, b.weights({n}, rng)), b.weights({n}, rng));
}

TEST(Fold, OfAttentionsMovesOnlyTheKeysTransposeIsAStep) {
  std::mt19937 rng(1);
  Builder b;
  const int x = b.input({1, 10, 32});
  b.g.outputs = {attention(b, x, 4, rng)};
  const ir::Plan p = check(b.g, rng);
  EXPECT_EQ(steps_of(p, "reshape"), 0);
  EXPECT_EQ(steps_of(p, "transpose"), 1);
  // q, k, v, k transposed, scores, max, exp, sum, context with the division, output with the residual.
  EXPECT_EQ(p.steps.size(), 10U);
}

TEST(Absorb, LayerNormIsThreeStepsAndGeluOne) {
  std::mt19937 rng(2);
  Builder b;
  const int x = b.input({1, 9, 24});
  const int inner = b.binary(ir::ScalarOp::add, b.matmul(layer_norm(b, x, rng), b.weights({24, 40}, rng)), b.weights({40}, rng));
  const int one = b.weights({1}, rng);
  b.g.outputs = {b.binary(ir::ScalarOp::mul, inner, b.binary(ir::ScalarOp::add, b.unary(ir::ScalarOp::erf, inner), one))};
  EXPECT_EQ(check(b.g, rng).steps.size(), 5U);  // the product with its bias, and GELU behind it
}

TEST(Lift, WhatFollowsAProductThroughAReshapeIsItsEpilogue) {
  std::mt19937 rng(7);
  Builder b;
  const int x = b.input({6, 8}), residual = b.input({1, 6, 16}), other = b.input({2, 3, 16});
  const int once = b.reshape(b.matmul(x, b.weights({8, 16}, rng)), {1, 6, 16});
  const int sum = b.binary(ir::ScalarOp::add, b.binary(ir::ScalarOp::add, residual, once), b.weights({16}, rng));
  const int split = b.reshape(b.matmul(b.reshape(sum, {6, 16}), b.weights({16, 16}, rng)), {2, 3, 16});
  b.g.outputs = {b.below(b.binary(ir::ScalarOp::mul, split, other), 2, 9)};
  EXPECT_EQ(check(b.g, rng).steps.size(), 2U);
}

TEST(Absorb, EmbeddingsAreOneStep) {
  std::mt19937 rng(6);
  Builder b;
  const int ids = b.scaled(b.input({1, 9}), 40), places = b.reshape(b.input({9, 1}), {1, 9});
  const int words = b.gather(b.weights({30, 16}, rng), 0, ids), kinds = b.gather(b.weights({2, 16}, rng), 0, places);
  b.g.outputs = {b.binary(ir::ScalarOp::add, words, kinds)};
  EXPECT_EQ(check(b.g, rng).steps.size(), 2U);  // the words' numbers, and the rest
}

TEST(Fold, OutputsAndInputsKeepTheirStorage) {
  std::mt19937 rng(3);
  Builder b;
  const int x = b.input({4, 6});
  const int plain = b.reshape(x, {3, 8});              // input to output: stays
  const int turned = b.transpose(x, {1, 0});           // so does this
  const int product = b.matmul(x, b.weights({6, 16}, rng));
  const int heads = b.reshape(product, {4, 2, 8});     // the product writes the output
  const int again = b.reshape(product, {8, 8});        // a second one is copied
  const int sunk = b.transpose(b.matmul(x, b.weights({6, 5}, rng)), {1, 0});
  b.g.outputs = {plain, turned, heads, again, sunk};
  const ir::Plan p = check(b.g, rng);
  EXPECT_EQ(steps_of(p, "matmul"), 2);
  EXPECT_EQ(p.steps.size(), 5U);
}

// Chains of moves, products, reductions and elementwise nodes, some of whose values are outputs too.
ir::Graph random_graph(std::mt19937& rng) {
  Builder b;
  const auto pick = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(rng); };
  std::vector<int> made = {b.input({2, 6, 8}), b.input({4, 12})};
  const int nodes = 4 + static_cast<int>(pick(9));
  const auto any = [&] { return made[static_cast<size_t>(pick(2)) == 0 ? made.size() - 1 : static_cast<size_t>(pick(static_cast<int64_t>(made.size())))]; };
  while (static_cast<int>(b.g.nodes.size()) < nodes) {
    const int x = any();
    const Shape s = b.shape(x);
    const size_t rank = s.size();
    switch (pick(11)) {
      case 0: {  // split or merge a dimension
        Shape to = s;
        const auto d = static_cast<size_t>(pick(static_cast<int64_t>(rank)));
        if (pick(2) == 0 && d + 1 < rank) {
          to[d] *= to[d + 1];
          to.erase(to.begin() + static_cast<ptrdiff_t>(d) + 1);
        } else if (s[d] % 2 == 0 && rank < 5) {
          to[d] = 2;
          to.insert(to.begin() + static_cast<ptrdiff_t>(d) + 1, s[d] / 2);
        } else {
          to.insert(to.begin() + static_cast<ptrdiff_t>(d), 1);
        }
        made.push_back(b.reshape(x, to));
        break;
      }
      case 1:
      case 2: {
        std::vector<int> order(rank);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), rng);
        made.push_back(b.transpose(x, order));
        break;
      }
      case 3: {
        const auto d = static_cast<size_t>(pick(static_cast<int64_t>(rank)));
        if (s[d] >= 4) made.push_back(b.slice(x, d, pick(2), 1 + pick(2), s[d] / 2 - pick(2)));
        break;
      }
      case 4: {
        int y = x;
        for (int t : made)
          if (b.shape(t) == s && pick(2) == 0) y = t;
        made.push_back(b.binary(pick(2) == 0 ? ir::ScalarOp::sub : ir::ScalarOp::mul, x, y));
        break;
      }
      case 5: made.push_back(b.unary(ir::ScalarOp::tanh, x)); break;
      case 9: {
        const auto d = static_cast<size_t>(pick(static_cast<int64_t>(rank)));
        if (ir::elements(b.g.tensors[static_cast<size_t>(x)]) < 400) made.push_back(b.concat(x, b.unary(ir::ScalarOp::tanh, x), d));
        break;
      }
      case 8: made.push_back(b.below(x, static_cast<int>(pick(static_cast<int64_t>(rank))), static_cast<double>(1 + pick(3)))); break;
      case 7: {
        const int ids = any();
        if (rank <= 3 && b.shape(ids).size() <= 2 && ir::elements(b.g.tensors[static_cast<size_t>(x)]) < 400)
          made.push_back(b.gather(x, static_cast<size_t>(pick(static_cast<int64_t>(rank))), pick(2) == 0 ? b.scaled(ids, 9.5) : ids));
        break;
      }
      case 6: {
        const int top = b.reduce(pick(2) == 0 ? ir::Combiner::sum : ir::Combiner::max, x);
        made.push_back(b.binary(ir::ScalarOp::sub, x, top));
        break;
      }
      default:
        if (rank >= 2 && pick(2) == 0) {
          made.push_back(b.matmul(x, b.weights({s.back(), 1 + pick(17)}, rng)));
        } else if (rank >= 2) {
          std::vector<int> order(rank);
          std::iota(order.begin(), order.end(), 0);
          std::swap(order[rank - 1], order[rank - 2]);
          made.push_back(b.matmul(x, b.transpose(x, order)));
        }
    }
  }
  b.g.outputs = {b.g.nodes.back().output};
  for (const ir::Node& n : b.g.nodes)
    if (n.output != b.g.outputs[0] && pick(6) == 0) b.g.outputs.push_back(n.output);
  return b.g;
}

TEST(Fold, RandomGraphsKeepTheirValues) {
  std::mt19937 rng(4);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    check(random_graph(rng), rng, round % 2 == 0 ? 4 : 8);
    if (HasFailure()) return;
  }
}

// Each pass alone leaves a sound graph with the same values.
TEST(Fold, EveryPassKeepsTheValuesOfRandomGraphs) {
  std::mt19937 rng(5);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const ir::Graph g = random_graph(rng);
    const ir::Graph folded = compiler::fold_maps(compiler::simplify(g)), lifted = compiler::lift_over_reshapes(folded),
                    absorbed = compiler::absorb(compiler::fold_maps(lifted)), postponed = compiler::postpone_factors(absorbed),
                    dropped = compiler::drop_unread(postponed);
    EXPECT_LE(dropped.nodes.size(), postponed.nodes.size());
    std::vector<Floats> inputs;
    for (int t : g.inputs) inputs.push_back(random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
    const auto want = ir::evaluate(g, inputs);
    ASSERT_TRUE(want.ok());
    for (const ir::Graph* changed : {&folded, &lifted, &absorbed, &postponed, &dropped}) {
      ASSERT_EQ(render(ir::verify(*changed)), "");
      const auto got = ir::evaluate(*changed, inputs);
      ASSERT_TRUE(got.ok());
      for (size_t o = 0; o < g.outputs.size(); ++o) {
        const auto &w = (*want)[static_cast<size_t>(g.outputs[o])], &v = (*got)[static_cast<size_t>(changed->outputs[o])];
        ASSERT_EQ(w.size(), v.size());
        for (size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(w[i], v[i], 1e-9 * (1 + std::abs(w[i])));
      }
    }
  }
}

}  // namespace
}  // namespace assay::test
