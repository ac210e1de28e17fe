// The fusions of ONNX Runtime (domain com.microsoft), against what they fuse computed in float64.
#include <cmath>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

constexpr const char* kMicrosoft = "com.microsoft";

double at(const Floats& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); }

std::string faults(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

double gelu(double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }

double gelu_by_tanh(double v) {
  return 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
}

// One channel of 3 x 3 ones with padding 1 under a kernel of ones: 4 at corners, 6 at edges, 9.
TEST(ImportFusedConv, BiasResidualThenActivation) {
  ModelBuilder m;
  m.input("x", {1, 1, 3, 3}, Floats(9, 1))
      .weights("w", {1, 1, 3, 3}, Floats(9, 1))
      .weights("b", {1}, {-7})
      .input("z", {1, 1, 3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 5})
      .output("y");
  m.node("FusedConv", {"x", "w", "b", "z"}, {"y"})
      .domain(kMicrosoft)
      .set("pads", Shape{1, 1, 1, 1})
      .set("activation", "LeakyRelu")
      .set("activation_params", Floats{0.5F});
  expect_near(m.run(), {-1.5, -0.5, -1.5, -0.5, 2, -0.5, -1.5, -0.5, 2});
}

TEST(ImportFusedConv, EveryActivation) {
  const Floats x = {-3, -0.4F, 0.3F, 2};
  const auto run = [&](const char* activation, const Floats& parameters) {
    ModelBuilder m;
    m.input("x", {1, 1, 2, 2}, x).weights("w", {1, 1, 1, 1}, {1}).output("y");
    m.node("FusedConv", {"x", "w"}, {"y"})
        .domain(kMicrosoft)
        .set("activation", activation)
        .set("activation_params", parameters);
    return m.run();
  };
  const auto each = [&](double (*f)(double)) {
    std::vector<double> y;
    for (float v : x) y.push_back(f(static_cast<double>(v)));
    return y;
  };
  expect_near(run("Relu", {}), each([](double v) { return std::max(v, 0.0); }));
  expect_near(run("Tanh", {}), each([](double v) { return std::tanh(v); }));
  expect_near(run("Sigmoid", {}), each([](double v) { return 1 / (1 + std::exp(-v)); }));
  expect_near(run("Clip", {-0.5F, 1}), each([](double v) { return std::clamp(v, -0.5, 1.0); }));
  expect_near(run("HardSigmoid", {0.25F, 0.5F}),
              each([](double v) { return std::clamp(0.25 * v + 0.5, 0.0, 1.0); }));
  ModelBuilder wrong;
  wrong.input("x", {1, 1, 2, 2}, x).weights("w", {1, 1, 1, 1}, {1}).output("y");
  wrong.node("FusedConv", {"x", "w"}, {"y"}).domain(kMicrosoft).set("activation", "Frob");
  EXPECT_NE(faults(wrong).find("activation Frob is not known\nhint: the activations are Relu"),
            std::string::npos)
      << faults(wrong);
}

// The same convolution with channels last.
TEST(ImportNhwcConv, IsConvWithChannelsLast) {
  Random random(61);
  const Floats x = random.floats({2, 4, 3, 5}), w = random.floats({3, 5, 2, 2}),
               b = random.floats({3});
  std::vector<double> want;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t y = 0; y < 3; ++y)
      for (int64_t column = 0; column < 2; ++column)
        for (int64_t o = 0; o < 3; ++o) {
          double sum = at(b, o);
          for (int64_t c = 0; c < 5; ++c)
            for (int64_t r = 0; r < 2; ++r)
              for (int64_t s = 0; s < 2; ++s)
                sum += at(x, ((n * 4 + y + r) * 3 + column + s) * 5 + c) *
                       at(w, ((o * 5 + c) * 2 + r) * 2 + s);
          want.push_back(sum);
        }
  ModelBuilder m;
  m.input("x", {2, 4, 3, 5}, x).weights("w", {3, 5, 2, 2}, w).weights("b", {3}, b).output("y");
  m.node("NhwcConv", {"x", "w", "b"}, {"y"}).domain(kMicrosoft);
  Shape shape;
  expect_near(m.run(&shape), want);
  EXPECT_EQ(shape, (Shape{2, 3, 2, 3}));
}

// transBatch: the first dimension is behind the batch; trans: the last two are swapped.
TEST(ImportFusedMatMul, EveryOrderOfDimensions) {
  Random random(62);
  for (int form = 0; form < 16; ++form) {
    const bool ta = form & 1, tb = form & 2, ba = form & 4, bb = form & 8;
    const int64_t batch = 2, rows = 3, inner = 4, columns = 5;
    const auto shape_of = [&](int64_t r, int64_t c, bool trans, bool trans_batch) {
      if (trans) std::swap(r, c);
      return trans_batch ? Shape{r, batch, c} : Shape{batch, r, c};
    };
    const auto place = [&](int64_t n, int64_t r, int64_t c, const Shape& s, bool trans,
                           bool trans_batch) {
      if (trans) std::swap(r, c);
      return trans_batch ? (r * s[1] + n) * s[2] + c : (n * s[1] + r) * s[2] + c;
    };
    const Shape as = shape_of(rows, inner, ta, ba), bs = shape_of(inner, columns, tb, bb);
    const Floats a = random.floats(as), b = random.floats(bs);
    std::vector<double> want;
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < inner; ++k)
            sum += at(a, place(n, i, k, as, ta, ba)) * at(b, place(n, k, j, bs, tb, bb));
          want.push_back(0.5 * sum);
        }
    ModelBuilder m;
    m.input("a", as, a).input("b", bs, b).output("y");
    m.node("FusedMatMul", {"a", "b"}, {"y"})
        .domain(kMicrosoft)
        .set("transA", ta ? 1 : 0)
        .set("transB", tb ? 1 : 0)
        .set("transBatchA", ba ? 1 : 0)
        .set("transBatchB", bb ? 1 : 0)
        .set("alpha", 0.5F);
    SCOPED_TRACE(form);
    expect_near(m.run(), want);
  }
}

// alpha and beta are Gemm's; the activation has its own.
TEST(ImportFusedGemm, ActivationParametersAreTheirOwn) {
  ModelBuilder m;
  m.input("a", {1, 2}, {1, -2}).weights("b", {2, 2}, {1, 0, 0, 1}).weights("c", {2}, {4, 4});
  m.output("y");
  m.node("FusedGemm", {"a", "b", "c"}, {"y"})
      .domain(kMicrosoft)
      .set("alpha", 3.0F)
      .set("beta", 0.25F)
      .set("activation", "Elu")
      .set("activation_alpha", 2.0F);
  expect_near(m.run(), {4, 2 * (std::exp(-5.0) - 1)});
}

TEST(ImportGelu, OfEveryForm) {
  const Floats x = {-2, -0.5F, 0.25F, 3}, bias = {1, -1, 0.5F, 2};
  const auto run = [&](const char* op, bool biased, const char* domain = kMicrosoft) {
    ModelBuilder m(20);
    m.input("x", {1, 4}, x).weights("b", {4}, bias).output("y");
    m.node(op, biased ? std::vector<std::string>{"x", "b"} : std::vector<std::string>{"x"}, {"y"})
        .domain(domain);
    return m.run();
  };
  std::vector<double> plain, quick, fast, biased, fast_biased;
  for (int64_t i = 0; i < 4; ++i) {
    const double v = at(x, i), w = v + at(bias, i);
    plain.push_back(gelu(v));
    fast.push_back(gelu_by_tanh(v));
    quick.push_back(v / (1 + std::exp(-1.702 * v)));
    biased.push_back(gelu(w));
    fast_biased.push_back(gelu_by_tanh(w));
  }
  expect_near(run("Gelu", false), plain);
  expect_near(run("Gelu", false, ""), plain);
  expect_near(run("BiasGelu", true), biased);
  expect_near(run("FastGelu", false), fast);
  expect_near(run("FastGelu", true), fast_biased);
  expect_near(run("QuickGelu", false), quick);
  ModelBuilder split;
  split.input("x", {1, 4}, x).weights("b", {4}, bias).output("y");
  split.node("BiasSplitGelu", {"x", "b"}, {"y"}).domain(kMicrosoft);
  expect_near(split.run(), {-1 * gelu(0.75), -1.5 * gelu(5)});
}

// The rows that the layer normalisation of [1 3] and [4 0] gives: -1 1 and 1 -1.
TEST(ImportSkipLayerNormalization, AddsBeforeItNormalises) {
  ModelBuilder m;
  m.input("x", {1, 2, 2}, {0, 1, 1, 0})
      .input("s", {2, 2}, {0, 1, 2, -1})
      .weights("g", {2}, {2, 3})
      .weights("b", {2}, {10, 20})
      .weights("bias", {2}, {1, 1})
      .output("y")
      .output("sum");
  m.node("SkipLayerNormalization", {"x", "s", "g", "b", "bias"}, {"y", "", "", "sum"})
      .domain(kMicrosoft);
  expect_near(m.run(), {8, 23, 12, 17});
  const ir::Graph g = m.import().value();
  const auto values = ir::evaluate(g, m.inputs);
  EXPECT_EQ((*values)[static_cast<size_t>(g.outputs[1])], (std::vector<double>{1, 3, 4, 0}));
}

TEST(ImportSkipSimplifiedLayerNormalization, DividesByTheRootOfTheMeanSquare) {
  const double root = std::sqrt((9.0 + 16) / 2 + 1e-12);
  ModelBuilder m;
  m.input("x", {1, 2}, {1, 2}).input("s", {1, 2}, {2, 2}).weights("g", {2}, {1, 10}).output("y");
  m.node("SkipSimplifiedLayerNormalization", {"x", "s", "g"}, {"y"}).domain(kMicrosoft);
  expect_near(m.run(), {3 / root, 40 / root});
  // ONNX Runtime writes this one without a domain.
  const double plain = std::sqrt((1.0 + 49) / 2 + 1e-3);
  ModelBuilder simple;
  simple.input("x", {1, 2}, {1, 7}).weights("g", {2}, {1, 10}).output("y").output("inverse");
  simple.node("SimplifiedLayerNormalization", {"x", "g"}, {"y", "inverse"}).set("epsilon", 1e-3F);
  expect_near(simple.run(), {1 / plain, 70 / plain});
  const ir::Graph g = simple.import().value();
  const auto values = ir::evaluate(g, simple.inputs);
  expect_near((*values)[static_cast<size_t>(g.outputs[1])], {1 / plain});
}

// Words 2 and 0, positions 0 and 1, segments 1 and 0 add to [1 3] and [4 0].
TEST(ImportEmbedLayerNormalization, AddsRowsAndCountsTheMask) {
  ModelBuilder m;
  m.input("ids", {1, 2}, {2, 0}, TensorProto::INT32)
      .input("segments", {1, 2}, {1, 0}, TensorProto::INT32)
      .weights("words", {3, 2}, {1, 0, 9, 9, 1, 1})
      .weights("places", {4, 2}, {0, 1, 1, 0, 9, 9, 9, 9})
      .weights("kinds", {2, 2}, {2, 0, 0, 1})
      .weights("g", {2}, {2, 3})
      .weights("b", {2}, {10, 20})
      .input("mask", {1, 2}, {1, 0}, TensorProto::INT32)
      .output("y")
      .output("count")
      .output("sum");
  m.node("EmbedLayerNormalization",
         {"ids", "segments", "words", "places", "kinds", "g", "b", "mask"}, {"y", "count", "sum"})
      .domain(kMicrosoft);
  expect_near(m.run(), {8, 23, 12, 17});
  const ir::Graph g = m.import().value();
  const auto values = ir::evaluate(g, m.inputs);
  EXPECT_EQ((*values)[static_cast<size_t>(g.outputs[1])], std::vector<double>{1});
  EXPECT_EQ((*values)[static_cast<size_t>(g.outputs[2])], (std::vector<double>{1, 3, 4, 0}));
}

// A name is an operator of its domain only.
TEST(ImportDomains, AreNotMixedUp) {
  const auto fault_of = [](const char* op, const char* domain) {
    ModelBuilder m;
    m.input("x", {1, 1, 2, 2}).weights("w", {1, 1, 1, 1}, {1}).output("y");
    m.node(op, {"x", "w"}, {"y"}).domain(domain);
    return faults(m);
  };
  EXPECT_EQ(fault_of("FusedConv", ""),
            "test.onnx: error: node make_y (FusedConv, output y): the operator FusedConv is not "
            "supported\nhint: FusedConv is an operator of the domain com.microsoft\n");
  EXPECT_EQ(fault_of("Conv", kMicrosoft),
            "test.onnx: error: node make_y (Conv, output y): the operator com.microsoft.Conv is "
            "not supported\nhint: Conv is an operator of the domain ai.onnx\n");
  EXPECT_NE(fault_of("FusedCnv", kMicrosoft).find("the nearest supported one is FusedConv"),
            std::string::npos);
  EXPECT_NE(
      fault_of("Conv", "org.example").find("operators of the domain org.example are not supported"),
      std::string::npos);
  EXPECT_EQ(fault_of("Conv", "ai.onnx"), "");
}

}  // namespace
}  // namespace assay::import
