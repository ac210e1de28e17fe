// Products, normalisations, elementwise operators, and those that move elements.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

double at(const Floats& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); }

TEST(ImportGemm, LikeNaiveLoops) {
  Random random(21);
  for (int round = 0; round < 40; ++round) {
    const int64_t m = random.pick({1, 3, 7}), n = random.pick({1, 5, 11}),
                  k = random.pick({1, 2, 13});
    const bool ta = round & 1, tb = round & 2, bias = round & 4;
    const float alpha = round & 8 ? 0.5F : 1, beta = round & 16 ? 2 : 1;
    const Shape as = ta ? Shape{k, m} : Shape{m, k}, bs = tb ? Shape{n, k} : Shape{k, n};
    const Floats a = random.floats(as), b = random.floats(bs), c = random.floats({n});
    std::vector<double> want;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += at(a, ta ? p * m + i : i * k + p) * at(b, tb ? j * k + p : p * n + j);
        want.push_back(static_cast<double>(alpha) * sum +
                       (bias ? static_cast<double>(beta) * at(c, j) : 0));
      }
    ModelBuilder model;
    model.input("a", as, a).weights("b", bs, b).weights("c", {n}, c).output("y");
    model
        .node("Gemm",
              bias ? std::vector<std::string>{"a", "b", "c"} : std::vector<std::string>{"a", "b"},
              {"y"})
        .set("transA", ta ? 1 : 0)
        .set("transB", tb ? 1 : 0)
        .set("alpha", alpha)
        .set("beta", beta);
    expect_near(model.run(), want);
  }
}

TEST(ImportMatMul, BatchesAreBroadcast) {
  Random random(22);
  const Floats a = random.floats({2, 1, 3, 4}), b = random.floats({5, 4, 2});
  std::vector<double> want;
  for (int64_t p = 0; p < 2; ++p)
    for (int64_t q = 0; q < 5; ++q)
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 2; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k)
            sum += at(a, (p * 3 + i) * 4 + k) * at(b, (q * 4 + k) * 2 + j);
          want.push_back(sum);
        }
  ModelBuilder m;
  m.input("a", {2, 1, 3, 4}, a).input("b", {5, 4, 2}, b).output("y");
  m.node("MatMul", {"a", "b"}, {"y"});
  Shape shape;
  expect_near(m.run(&shape), want);
  EXPECT_EQ(shape, (Shape{2, 5, 3, 2}));
}

TEST(ImportMatMul, VectorsLoseTheirDimension) {
  ModelBuilder m;
  m.input("a", {3}, {1, 2, 3}).input("b", {3}, {4, 5, 6}).output("y");
  m.node("MatMul", {"a", "b"}, {"y"});
  Shape shape = {9};
  expect_near(m.run(&shape), {32});
  EXPECT_EQ(shape, Shape{});
}

std::vector<double> softmax(const Floats& x, int64_t outer, int64_t middle, int64_t inner) {
  std::vector<double> y(x.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < middle; ++k) sum += std::exp(at(x, (o * middle + k) * inner + i));
      for (int64_t k = 0; k < middle; ++k) {
        const int64_t p = (o * middle + k) * inner + i;
        y[static_cast<size_t>(p)] = std::exp(at(x, p)) / sum;
      }
    }
  return y;
}

TEST(ImportSoftmax, OneAxisSinceOpset13AndAMatrixBefore) {
  Random random(23);
  const Floats x = random.floats({2, 3, 5}, -4, 4);
  for (int64_t opset : {11, 13}) {
    ModelBuilder m(opset);
    m.input("x", {2, 3, 5}, x).output("y");
    m.node("Softmax", {"x"}, {"y"}).set("axis", 1);
    expect_near(m.run(), opset == 13 ? softmax(x, 2, 3, 5) : softmax(x, 2, 15, 1));
  }
  ModelBuilder last(13);
  last.input("x", {2, 3, 5}, x).output("y");
  last.node("Softmax", {"x"}, {"y"});
  expect_near(last.run(), softmax(x, 6, 5, 1));
}

TEST(ImportBatchNormalization, FoldsItsStatistics) {
  Random random(24);
  const Floats x = random.floats({2, 3, 2, 2}), scale = random.floats({3}),
               bias = random.floats({3}), mean = random.floats({3}),
               variance = random.floats({3}, 0.1, 2);
  std::vector<double> want;
  for (int64_t i = 0; i < 24; ++i) {
    const int64_t c = i / 4 % 3;
    want.push_back(at(scale, c) * (at(x, i) - at(mean, c)) / std::sqrt(at(variance, c) + 0.001) +
                   at(bias, c));
  }
  ModelBuilder m;
  m.input("x", {2, 3, 2, 2}, x)
      .weights("s", {3}, scale)
      .weights("b", {3}, bias)
      .weights("m", {3}, mean)
      .weights("v", {3}, variance);
  m.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}).set("epsilon", 0.001F);
  m.output("y");
  expect_near(m.run(), want);
  const ir::Graph g = m.import().value();
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op, "bn");
  EXPECT_EQ(g.constants.size(), 2u);
}

TEST(ImportElementwise, Formulas) {
  const Floats x = {-7, -2, -0.5F, 0, 0.5F, 2, 7};
  const auto expect = [&](const char* op, double (*f)(double), int64_t opset = 21) {
    ModelBuilder m(opset);
    m.input("x", {7}, x).output("y");
    m.node(op, {"x"}, {"y"});
    std::vector<double> want;
    for (float v : x) want.push_back(f(static_cast<double>(v)));
    SCOPED_TRACE(op);
    expect_near(m.run(), want);
  };
  expect("Relu", [](double v) { return std::max(v, 0.0); });
  expect("Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); });
  expect("HardSigmoid", [](double v) { return std::clamp(0.2 * v + 0.5, 0.0, 1.0); });
  expect("HardSwish", [](double v) { return v * std::clamp(v / 6 + 0.5, 0.0, 1.0); });
  expect("LeakyRelu", [](double v) { return v < 0 ? 0.01 * v : v; });
  expect("Elu", [](double v) { return v < 0 ? std::exp(v) - 1 : v; });
  expect("Tanh", [](double v) { return std::tanh(v); });
  expect("Erf", [](double v) { return std::erf(v); });
  expect("Softplus", [](double v) { return std::log(1 + std::exp(v)); });
  expect("Gelu", [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  expect("Abs", [](double v) { return std::abs(v); });
}

bool raises(const ir::Scalar& s) {
  return s.op == ir::ScalarOp::pow || std::any_of(s.args.begin(), s.args.end(), raises);
}

TEST(ImportPow, SquaresAndCubesAreProducts) {
  const Floats x = {-3, -0.5F, 0, 0.25F, 7};
  for (const float exponent : {2.0F, 3.0F, 4.0F}) {
    std::vector<double> want;
    for (float v : x)
      want.push_back(std::pow(static_cast<double>(v), static_cast<double>(exponent)));
    for (const bool integer : {false, true}) {
      ModelBuilder m;
      m.input("x", {5}, x).output("y");
      if (integer)
        m.integers("e", {static_cast<int64_t>(exponent)});
      else
        m.weights("e", {1, 1}, {exponent});
      m.node("Pow", {"x", "e"}, {"y"});
      expect_near(m.run(), want);
      const ir::Graph g = m.import().value();
      ASSERT_EQ(g.nodes.size(), 1u);
      EXPECT_EQ(g.nodes[0].reads.size(), 1u);
      EXPECT_EQ(raises(g.nodes[0].body), exponent > 3) << exponent;
    }
  }
}

TEST(ImportPow, OfAConstantAndByATensor) {
  ModelBuilder m;
  m.input("x", {3}, {1, 2, 3})
      .weights("base", {}, {2})
      .weights("two", {}, {2})
      .output("y")
      .output("z");
  m.node("Pow", {"base", "x"}, {"y"});
  m.node("Pow", {"base", "two"}, {"square"});
  m.node("Mul", {"x", "square"}, {"z"});
  const ir::Graph g = m.import().value();
  const auto values = ir::evaluate(g, std::vector<std::vector<float>>{{1, 2, 3}});
  ASSERT_TRUE(values.ok()) << render(values.diags());
  EXPECT_EQ((*values)[static_cast<size_t>(g.outputs[0])], (std::vector<double>{2, 4, 8}));
  EXPECT_EQ((*values)[static_cast<size_t>(g.outputs[1])], (std::vector<double>{4, 8, 12}));
}

TEST(ImportElementwise, BroadcastsBothWays) {
  ModelBuilder m;
  m.input("a", {2, 1}, {10, 20}).input("b", {3}, {1, 2, 3}).output("y");
  m.node("Sub", {"a", "b"}, {"y"});
  expect_near(m.run(), {9, 8, 7, 19, 18, 17});
}

TEST(ImportElementwise, OldBroadcastAlignsAtItsAxis) {
  ModelBuilder m(6);
  m.input("a", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).input("b", {2}, {10, 20}).output("y");
  m.node("Add", {"a", "b"}, {"y"}).set("broadcast", 1).set("axis", 1);
  expect_near(m.run(), {11, 12, 23, 24, 15, 16, 27, 28});
}

TEST(ImportClip, BoundsAsAttributesAndAsInputs) {
  const Floats x = {-3, 1, 9};
  ModelBuilder old(9);
  old.input("x", {3}, x).output("y");
  old.node("Clip", {"x"}, {"y"}).set("min", 0.0F).set("max", 6.0F);
  expect_near(old.run(), {0, 1, 6});
  ModelBuilder recent(13);
  recent.input("x", {3}, x).weights("high", {}, {6}).output("y");
  recent.node("Clip", {"x", "", "high"}, {"y"});
  expect_near(recent.run(), {-3, 1, 6});
}

TEST(ImportSum, OfManyAndMean) {
  ModelBuilder m;
  m.input("a", {2}, {1, 2}).input("b", {1}, {10}).input("c", {2}, {100, 200}).output("y");
  m.node("Sum", {"a", "b", "c"}, {"s"});
  m.node("Mean", {"s", "b"}, {"y"});
  expect_near(m.run(), {60.5, 111});
}

TEST(ImportReduce, AxesAsAttributeAndAsInput) {
  const Floats x = {1, 2, 3, 4, 5, 6};
  for (int64_t opset : {11, 13, 18}) {
    ModelBuilder m(opset);
    m.input("x", {2, 3}, x).integers("axes", {-1}).output("y");
    if (opset >= 18)
      m.node("ReduceMean", {"x", "axes"}, {"y"}).set("keepdims", 0);
    else
      m.node("ReduceMean", {"x"}, {"y"}).set("axes", Shape{1}).set("keepdims", 0);
    Shape shape;
    expect_near(m.run(&shape), {2, 5});
    EXPECT_EQ(shape, Shape{2});
  }
}

TEST(ImportMove, TransposeConcatSlicePad) {
  ModelBuilder m;
  m.input("x", {2, 3}, {1, 2, 3, 4, 5, 6})
      .integers("starts", {-1})
      .integers("ends", {INT64_MIN})
      .integers("axes", {0})
      .integers("steps", {-1})
      .integers("pads", {0, 1, 1, 0})
      .weights("value", {}, {9})
      .output("y");
  m.node("Transpose", {"x"}, {"t"});                                 // 1 4 / 2 5 / 3 6
  m.node("Slice", {"t", "starts", "ends", "axes", "steps"}, {"s"});  // 3 6 / 2 5 / 1 4
  m.node("Concat", {"t", "s"}, {"c"}).set("axis", 1);
  m.node("Pad", {"c", "pads", "value"}, {"y"});
  expect_near(m.run(), {9, 1, 4, 3, 6, 9, 2, 5, 2, 5, 9, 3, 6, 1, 4, 9, 9, 9, 9, 9});
}

TEST(ImportReshape, KeepsTheOrderOfElements) {
  Random random(25);
  const Floats x = random.floats({4, 3, 5, 2});
  for (const Shape& to : {Shape{0, -1}, Shape{5, 24}, Shape{-1}, Shape{2, 2, 3, 10},
                          Shape{1, 4, 1, 15, 2}, Shape{8, 15}}) {
    ModelBuilder m;
    m.input("x", {4, 3, 5, 2}, x).integers("to", to).output("y");
    m.node("Reshape", {"x", "to"}, {"y"});
    expect_near(m.run(), std::vector<double>(x.begin(), x.end()));
  }
}

TEST(ImportReshape, AddsAndDropsOnesAsPlainAxes) {
  ModelBuilder m;
  m.input("x", {1, 6, 1, 1}).output("y");
  m.node("Flatten", {"x"}, {"y"});
  const ir::Graph g = m.import().value();
  EXPECT_EQ(ir::print_node(g, g.nodes[0]), "y[i0, i1] = x[0, i1, 0, 0]");
}

TEST(ImportFold, ShapesAreComputedExactly) {
  ModelBuilder m;
  m.input("x", {2, 3, 4}, Random(26).floats({2, 3, 4}))
      .integers("zero", {0})
      .integers("rest", {-1})
      .output("y");
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "zero"}, {"first"});
  m.node("Concat", {"first", "rest"}, {"to"}).set("axis", 0);
  m.node("Reshape", {"x", "to"}, {"y"});
  Shape shape;
  m.run(&shape);
  EXPECT_EQ(shape, (Shape{2, 12}));
  EXPECT_EQ(m.import().value().constants.size(), 0u);
}

TEST(ImportFold, SentinelsSurvive) {
  ModelBuilder m;
  m.input("x", {5}, {1, 2, 3, 4, 5})
      .integers("one", {1})
      .integers("far", {INT64_MAX})
      .integers("none", {0})
      .output("y");
  m.node("Add", {"far", "none"}, {"end"});
  m.node("Slice", {"x", "one", "end"}, {"y"});
  expect_near(m.run(), {2, 3, 4, 5});
}

TEST(ImportFold, ConstantsReachWeights) {
  ModelBuilder m(9);
  m.input("x", {1, 2, 3, 3}, Floats(18, 1))
      .integers("shape", {4, 2, 1, 1})
      .weights("two", {1}, {2})
      .output("y");
  m.node("ConstantOfShape", {"shape"}, {"zeros"});
  m.node("Add", {"zeros", "two"}, {"w"});
  m.node("Conv", {"x", "w"}, {"y"});
  expect_near(m.run(), std::vector<double>(36, 4));
  const ir::Graph g = m.import().value();
  EXPECT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.constants.size(), 1u);
}

TEST(ImportGraph, AliasesAndCopiedOutputs) {
  ModelBuilder m;
  m.input("x", {2}, {1, 2}).output("y").output("z");
  m.node("Identity", {"x"}, {"a"});
  m.node("Relu", {"a"}, {"b"});
  m.node("Dropout", {"b"}, {"y"});
  m.node("Identity", {"x"}, {"z"});
  const ir::Graph g = m.import().value();
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.tensors[static_cast<size_t>(g.outputs[0])].name, "y");
  EXPECT_EQ(g.tensors[static_cast<size_t>(g.outputs[1])].name, "z");
  EXPECT_EQ(g.nodes[1].op, "copy");
}

TEST(ImportGraph, InitialisersListedAsInputsAreConstants) {
  ModelBuilder m(8);
  m.input("x", {2}, {1, 2}).weights("w", {2}, {10, 20}).output("y");
  m.input("w", {2});
  m.inputs.pop_back();
  m.node("Mul", {"x", "w"}, {"y"});
  EXPECT_EQ(m.import().value().inputs.size(), 1u);
  expect_near(m.run(), {10, 40});
}

TEST(ImportGraph, PrintedGraphsComeBack) {
  Random random(27);
  ModelBuilder m;
  m.input("in/put", {1, 4, 9, 9})
      .weights("w", {6, 2, 3, 3}, random.floats({6, 2, 3, 3}))
      .weights("b", {6}, random.floats({6}));
  m.integers("to", {1, -1}).output("y");
  m.node("Conv", {"in/put", "w", "b"}, {"c"})
      .set("group", 2)
      .set("pads", Shape{1, 1, 1, 1})
      .set("strides", Shape{2, 2});
  m.node("MaxPool", {"c"}, {"p"}).set("kernel_shape", Shape{3, 3}).set("pads", Shape{1, 1, 1, 1});
  m.node("Reshape", {"p", "to"}, {"r"});
  m.node("Softmax", {"r"}, {"y"});
  ir::Graph g = m.import().value();
  const std::string text = ir::print_graph(g);
  const Result<ir::Graph> back = ir::parse_graph(text, "g.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags());
  for (size_t i = 0; i < g.constants.size(); ++i)
    if (back.value().constants[i].bytes.empty()) g.constants[i].bytes.clear();
  EXPECT_EQ(back.value(), g) << text;
}

}  // namespace
}  // namespace assay::import
