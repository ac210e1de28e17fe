// Operators that ONNX's test data (tests/conformance) lacks or has in one form only: normalisations
// of newer opsets, integers at run time, einsum, transposed convolutions.
#include <algorithm>
#include <cmath>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

double at(const Floats& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); }

std::string faults(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

// (x - mean) / sqrt(variance + epsilon) of each row of `length` elements.
std::vector<double> normal_rows(const Floats& x, int64_t length, double epsilon) {
  std::vector<double> out;
  for (int64_t row = 0; row < static_cast<int64_t>(x.size()); row += length) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < length; ++i) mean += at(x, row + i) / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i)
      variance += std::pow(at(x, row + i) - mean, 2) / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i)
      out.push_back((at(x, row + i) - mean) / std::sqrt(variance + epsilon));
  }
  return out;
}

TEST(ImportGroupNormalization, ParametersPerGroupThenPerChannel) {
  Random random(41);
  const Shape shape = {2, 6, 3, 2};
  const Floats x = random.floats(shape);
  for (const int64_t opset : {18, 21}) {
    const int64_t count = opset == 18 ? 3 : 6;
    const Floats scale = random.floats({count}), bias = random.floats({count});
    std::vector<double> want = normal_rows(x, 2 * 6, 1e-3);
    for (int64_t i = 0; i < static_cast<int64_t>(want.size()); ++i) {
      const int64_t channel = i / 6 % 6, parameter = opset == 18 ? channel / 2 : channel;
      want[static_cast<size_t>(i)] =
          want[static_cast<size_t>(i)] * at(scale, parameter) + at(bias, parameter);
    }
    ModelBuilder m(opset);
    m.input("x", shape, x).weights("s", {count}, scale).weights("b", {count}, bias).output("y");
    m.node("GroupNormalization", {"x", "s", "b"}, {"y"}).set("num_groups", 3).set("epsilon", 1e-3F);
    expect_near(m.run(), want, 1e-5);
  }
}

TEST(ImportRmsNormalization, DividesByTheRootOfTheMeanSquare) {
  Random random(42);
  const Floats x = random.floats({4, 5}), scale = random.floats({5});
  std::vector<double> want;
  for (int64_t row = 0; row < 4; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < 5; ++i) squares += at(x, row * 5 + i) * at(x, row * 5 + i) / 5;
    for (int64_t i = 0; i < 5; ++i)
      want.push_back(at(x, row * 5 + i) / std::sqrt(squares + static_cast<double>(1e-5F)) *
                     at(scale, i));
  }
  ModelBuilder m(23);
  m.input("x", {4, 5}, x).weights("s", {5}, scale).output("y");
  m.node("RMSNormalization", {"x", "s"}, {"y"});
  expect_near(m.run(), want);
}

TEST(ImportLpNormalization, BothNormsAndZerosStayZero) {
  ModelBuilder one, two;
  one.input("x", {2, 2}, {3, 0, -4, 0}).output("y");
  one.node("LpNormalization", {"x"}, {"y"}).set("axis", 0).set("p", 1);
  expect_near(one.run(), {3.0 / 7, 0, -4.0 / 7, 0});
  two.input("x", {2, 2}, {3, 0, -4, 0}).output("y");
  two.node("LpNormalization", {"x"}, {"y"}).set("axis", 0);
  expect_near(two.run(), {0.6, 0, -0.8, 0});
}

TEST(ImportLpPool, LikeNaiveLoops) {
  Random random(43);
  const Floats x = random.floats({1, 1, 5});
  for (const int64_t p : {1, 2, 3}) {
    std::vector<double> want;
    for (int64_t o = 0; o < 4; ++o) {
      double sum = 0;
      for (int64_t k = 0; k < 2; ++k)
        sum += std::pow(std::abs(at(x, o + k)), static_cast<double>(p));
      want.push_back(std::pow(sum, 1 / static_cast<double>(p)));
    }
    ModelBuilder m;
    m.input("x", {1, 1, 5}, x).output("y");
    m.node("LpPool", {"x"}, {"y"}).set("kernel_shape", Shape{2}).set("p", p);
    expect_near(m.run(), want);
    double sum = 0;
    for (int64_t i = 0; i < 5; ++i) sum += std::pow(std::abs(at(x, i)), static_cast<double>(p));
    ModelBuilder whole;
    whole.input("x", {1, 1, 5}, x).output("y");
    whole.node("GlobalLpPool", {"x"}, {"y"}).set("p", p);
    expect_near(whole.run(), {std::pow(sum, 1 / static_cast<double>(p))});
  }
}

// Every input element spreads the filter over the output.
TEST(ImportConvTranspose, LikeNaiveLoops) {
  Random random(44);
  for (int round = 0; round < 60; ++round) {
    const int64_t groups = random.pick({1, 1, 2}), channels = 2 * groups,
                  filters = random.pick({1, 3});
    const int64_t extent = random.pick({1, 4, 5}), kernel = random.pick({1, 2, 3, 4}),
                  stride = random.pick({1, 2, 3});
    const int64_t dilation = random.pick({1, 1, 2}), before = random.pick({0, 1}),
                  after = random.pick({0, 2});
    const int64_t extra = random.pick({0, stride - 1}), width = random.pick({3, 6});
    const int64_t out =
        stride * (extent - 1) + extra + dilation * (kernel - 1) + 1 - before - after;
    if (out < 1) continue;
    const Shape xs = {2, channels, extent, width}, ws = {channels, filters, kernel, 1};
    const Floats x = random.floats(xs), w = random.floats(ws),
                 bias = random.floats({groups * filters});
    std::vector<double> want(static_cast<size_t>(2 * groups * filters * out * width), 0);
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t o = 0; o < groups * filters; ++o)
        for (int64_t column = 0; column < width; ++column) {
          const auto place = [&](int64_t row) {
            return static_cast<size_t>(((n * groups * filters + o) * out + row) * width + column);
          };
          for (int64_t row = 0; row < out; ++row) want[place(row)] = at(bias, o);
          for (int64_t c = 0; c < 2; ++c)
            for (int64_t i = 0; i < extent; ++i)
              for (int64_t k = 0; k < kernel; ++k) {
                const int64_t row = i * stride + k * dilation - before,
                              channel = o / filters * 2 + c;
                if (row < 0 || row >= out) continue;
                want[place(row)] +=
                    at(x, ((n * channels + channel) * extent + i) * width + column) *
                    at(w, (channel * filters + o % filters) * kernel + k);
              }
        }
    ModelBuilder m;
    m.input("x", xs, x).weights("w", ws, w).weights("b", {groups * filters}, bias).output("y");
    m.node("ConvTranspose", {"x", "w", "b"}, {"y"})
        .set("group", groups)
        .set("strides", Shape{stride, 1})
        .set("dilations", Shape{dilation, 1})
        .set("pads", Shape{before, 0, after, 0})
        .set("output_padding", Shape{extra, 0});
    Shape shape;
    expect_near(m.run(&shape), want);
    EXPECT_EQ(shape, (Shape{2, groups * filters, out, width}));
  }
}

TEST(ImportEinsum, ThreeOperandsAndAnEllipsis) {
  Random random(45);
  const Floats a = random.floats({2, 3, 4}), b = random.floats({4, 5}), c = random.floats({5});
  std::vector<double> want;
  for (int64_t i = 0; i < 6; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k)
      for (int64_t l = 0; l < 5; ++l) sum += at(a, i * 4 + k) * at(b, k * 5 + l) * at(c, l);
    want.push_back(sum);
  }
  ModelBuilder m;
  m.input("a", {2, 3, 4}, a).input("b", {4, 5}, b).input("c", {5}, c).output("y");
  m.node("Einsum", {"a", "b", "c"}, {"y"}).set("equation", "...k, kl, l -> ...");
  Shape shape;
  expect_near(m.run(&shape), want);
  EXPECT_EQ(shape, (Shape{2, 3}));
  ModelBuilder wrong;
  wrong.input("a", {2, 3}, Floats(6)).output("y");
  wrong.node("Einsum", {"a"}, {"y"}).set("equation", "ijk->i");
  EXPECT_NE(faults(wrong).find("the term ijk is for another rank than 2"), std::string::npos);
}

TEST(ImportPad, WrapRepeatsFromTheOtherEnd) {
  ModelBuilder m(19);
  m.input("x", {3}, {1, 2, 3}).integers("pads", {2, 3}).output("y");
  m.node("Pad", {"x", "pads"}, {"y"}).set("mode", "wrap");
  expect_near(m.run(), {2, 3, 1, 2, 3, 1, 2, 3});
}

// With antialias, halving with the linear kernel weighs four neighbours 1 3 3 1, less at the
// border.
TEST(ImportResize, AntialiasWidensTheKernel) {
  ModelBuilder m(18);
  m.input("x", {6}, {1, 0, 0, 8, 0, 0}).weights("scales", {1}, {0.5}).output("y");
  m.node("Resize", {"x", "", "scales"}, {"y"}).set("mode", "linear").set("antialias", 1);
  expect_near(m.run(), {4.0 / 8, 3, 1}, 1e-5);
}

// Every output along a resized dimension has weights, so their number is limited. Dimensions that
// are not resized have no limit.
TEST(ImportResize, TooLongDimensionsAreRefused) {
  ModelBuilder m(18);
  m.input("x", {6}, Floats(6)).weights("scales", {1}, {1e6}).output("y");
  m.node("Resize", {"x", "", "scales"}, {"y"}).set("mode", "linear");
  EXPECT_NE(faults(m).find(
                "a dimension of 6 elements is too large to resize to 6000000: 1048576 at most"),
            std::string::npos)
      << faults(m);
  ModelBuilder kept(18);
  kept.input("x", {2, 1 << 21}, Floats(size_t{2} << 21)).integers("sizes", {1}).output("y");
  kept.node("Resize", {"x", "", "", "sizes"}, {"y"}).set("axes", std::vector<int64_t>{0});
  EXPECT_EQ(kept.run().size(), size_t{1} << 21);
}

TEST(ImportIntegers, RoundAndWrapAtRunTime) {
  const Floats a = {7, -7, 7, -7}, b = {2, 2, -2, -2};
  const auto run = [&](const char* op, const char* attribute, int type, const Floats& x,
                       const Floats& y) {
    ModelBuilder m;
    m.input("a", {4}, x, type).input("b", {4}, y, type).output("y");
    NodeBuilder node = m.node(op, {"a", "b"}, {"y"});
    if (*attribute == 'f')
      node.set("fmod", 1);
    else if (*attribute)
      node.set("direction", attribute);
    return m.run();
  };
  expect_near(run("Div", "", TensorProto::INT64, a, b), {3, -3, -3, 3});
  expect_near(run("Mod", "", TensorProto::INT64, a, b), {1, 1, -1, -1});
  expect_near(run("Mod", "f", TensorProto::INT64, a, b), {1, -1, 1, -1});
  expect_near(run("Add", "", TensorProto::UINT8, {250, 255, 0, 1}, {10, 255, 0, 1}),
              {4, 254, 0, 2});
  expect_near(run("Mul", "", TensorProto::INT8, {100, -128, 5, 1}, {2, 1, -5, 1}),
              {-56, -128, -25, 1});
  expect_near(run("Sub", "", TensorProto::UINT8, {0, 5, 1, 9}, {1, 5, 2, 3}), {255, 0, 255, 6});
  expect_near(run("BitShift", "LEFT", TensorProto::UINT8, {1, 255, 129, 3}, {7, 4, 1, 8}),
              {128, 240, 2, 0});
  expect_near(run("BitShift", "RIGHT", TensorProto::UINT8, {255, 128, 7, 7}, {4, 7, 1, 200}),
              {15, 1, 3, 0});
}

// Constants are folded by another path, in 64 bits: the same rules hold there.
TEST(ImportIntegers, FoldAsTheyRun) {
  for (const char* op : {"Div", "Mod", "Add", "Mul", "Sub"}) {
    const Shape a = {7, -7, 7, -7, 6, 0}, b = {2, 2, -2, -2, 3, 5};
    ModelBuilder folded, running;
    folded.integers("a", a).integers("b", b).output("y");
    running.input("a", {6}, Floats(a.begin(), a.end()), TensorProto::INT64)
        .integers("b", b)
        .output("y");
    folded.node(op, {"a", "b"}, {"y"});
    running.node(op, {"a", "b"}, {"y"});
    expect_near(folded.run(), running.run());
  }
}

TEST(ImportGather, IndicesAtRunTime) {
  ModelBuilder m;
  m.weights("table", {3, 2}, {1, 2, 3, 4, 5, 6})
      .input("ids", {4}, {2, 0, -1, 1}, TensorProto::INT64)
      .output("y");
  m.node("Gather", {"table", "ids"}, {"y"});
  Shape shape;
  expect_near(m.run(&shape), {5, 6, 1, 2, 5, 6, 3, 4});
  EXPECT_EQ(shape, (Shape{4, 2}));
}

// One read of the table per element, whatever its size, and 0 outside.
TEST(ImportGather, IsALookup) {
  ModelBuilder m;
  m.weights("table", {2, 3}, {1, 2, 3, 4, 5, 6})
      .input("ids", {2, 2}, {2, -3, 3, -4}, TensorProto::INT64)
      .output("y");
  m.node("Gather", {"table", "ids"}, {"y"}).set("axis", 1);
  Shape shape;
  expect_near(m.run(&shape), {3, 1, 0, 0, 6, 4, 0, 0});
  EXPECT_EQ(shape, (Shape{2, 2, 2}));
  const ir::Graph g = m.import().value();
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(ir::print_node(g, g.nodes[0]), "y[i0, i1, i2] = table[i0, ids[i1, i2]]");
}

TEST(ImportGather, UnevenConstantIndicesOfComputedData) {
  ModelBuilder m;
  m.input("x", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).integers("ids", {3, 0, 1}).output("y");
  m.node("Gather", {"x", "ids"}, {"y"});
  expect_near(m.run(), {7, 8, 1, 2, 3, 4});
  EXPECT_EQ(m.import().value().nodes[0].axes.size(), 2u);
}

TEST(ImportGatherElements, IsALookup) {
  ModelBuilder m;
  m.input("x", {2, 3}, {1, 2, 3, 4, 5, 6})
      .input("ids", {2, 2}, {2, 0, -1, 1}, TensorProto::INT64)
      .output("y");
  m.node("GatherElements", {"x", "ids"}, {"y"}).set("axis", 1);
  expect_near(m.run(), {3, 1, 6, 5});
  EXPECT_EQ(m.import().value().nodes[0].axes.size(), 2u);
}

TEST(ImportGatherNd, OneDimensionIsALookupTwoAreASelection) {
  ModelBuilder one, two;
  one.input("x", {2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
      .input("ids", {2, 1}, {2, -3}, TensorProto::INT64)
      .output("y");
  one.node("GatherND", {"x", "ids"}, {"y"}).set("batch_dims", 1);
  expect_near(one.run(), {5, 6, 7, 8});
  EXPECT_EQ(one.import().value().nodes[0].axes.size(), 2u);
  two.input("x", {2, 3}, {1, 2, 3, 4, 5, 6})
      .input("ids", {2, 2}, {1, 2, 0, -3}, TensorProto::INT64)
      .output("y");
  two.node("GatherND", {"x", "ids"}, {"y"});
  expect_near(two.run(), {6, 1});
}

TEST(ImportTrigonometry, LikeTheLibrary) {
  Floats x;
  for (int i = -400; i <= 400; ++i) x.push_back(static_cast<float>(i) * 0.37F);
  const Shape shape = {static_cast<int64_t>(x.size())};
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"Sin", [](double v) { return std::sin(v); }},
      {"Cos", [](double v) { return std::cos(v); }},
      {"Atan", [](double v) { return std::atan(v); }}};
  for (const auto& [op, function] : functions) {
    ModelBuilder m;
    m.input("x", shape, x).output("y");
    m.node(op, {"x"}, {"y"});
    std::vector<double> want;
    for (float v : x) want.push_back(function(static_cast<double>(v)));
    expect_near(m.run(), want, 1e-8);
  }
}

TEST(ImportNarrow, RefusesWhatF32CanNotHold) {
  ModelBuilder large;
  large.input("x", {1}, {1}, TensorProto::INT64).integers("n", {(1 << 24) + 1}).output("y");
  large.node("Add", {"x", "n"}, {"y"});
  EXPECT_NE(faults(large).find("value n: the integer 16777217 is not exact as f32"),
            std::string::npos)
      << faults(large);
  ModelBuilder wide;
  wide.input("x", {2}, {1, 1}, TensorProto::DOUBLE)
      .constant<double>("c", {2}, TensorProto::DOUBLE, {1, 1e39})
      .constant<double>("d", {}, TensorProto::DOUBLE, {-1e39})
      .output("y")
      .output("z");
  wide.node("Add", {"x", "c"}, {"y"});
  wide.node("Add", {"x", "d"}, {"z"});
  EXPECT_EQ(faults(wide),
            "test.onnx: error: value c: it holds numbers beyond the range of f32\n"
            "test.onnx: error: node make_z: it computes with -1e+39, beyond the range of f32\n");
}

TEST(ImportNarrow, EveryTensorBecomesF32) {
  ModelBuilder m;
  m.input("x", {2}, {1, 3}).integers("n", {2}).output("y").output("z");
  m.node("Less", {"x", "x"}, {"l"});
  m.node("Cast", {"l"}, {"y"}).set("to", TensorProto::INT64);
  m.node("Mul", {"y", "n"}, {"z"});
  const Result<ir::Graph> g = m.import();
  ASSERT_TRUE(g.ok()) << render(g.diags());
  for (const ir::Tensor& t : g->tensors) EXPECT_EQ(t.dtype, ir::DType::f32) << t.name;
}

}  // namespace
}  // namespace assay::import
