// Tensors without elements, negative pads, values known at run time, rounding to narrow types,
// bits.
#include <cmath>
#include <limits>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

std::string faults(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

TEST(ImportEmpty, PartsOfASplitAndOperandsOfAConcat) {
  ModelBuilder m;
  m.input("x", {1, 4}, {1, 2, 3, 4}).integers("sizes", {3, 0, 1}).output("y");
  m.node("Split", {"x", "sizes"}, {"a", "none", "b"}).set("axis", 1);
  m.node("Relu", {"none"}, {"still"});
  m.node("Concat", {"b", "still", "a"}, {"y"}).set("axis", 1);
  Shape shape;
  expect_near(m.run(&shape), {4, 1, 2, 3});
  EXPECT_EQ(shape, (Shape{1, 4}));
}

TEST(ImportEmpty, SumsOfNothingAreZero) {
  ModelBuilder m(13);
  m.input("x", {2, 3}, {1, 2, 3, 4, 5, 6})
      .integers("zero", {0})
      .integers("axis", {0})
      .weights("w", {0, 3}, {})
      .output("y");
  m.node("Slice", {"x", "zero", "zero", "axis"}, {"none"});           // [0, 3]
  m.node("ReduceSum", {"none", "axis"}, {"sum"}).set("keepdims", 0);  // [3]
  m.node("Transpose", {"none"}, {"columns"});                         // [3, 0]
  m.node("MatMul", {"columns", "w"}, {"product"});                    // [3, 3]
  m.node("Add", {"product", "sum"}, {"nothing"});
  m.node("Gather", {"nothing", "axis"}, {"row"});
  m.node("Add", {"x", "row"}, {"y"});
  expect_near(m.run(), {1, 2, 3, 4, 5, 6});
}

// A graph's own inputs and outputs have elements, and so have operands of operators that are
// defined on elements.
TEST(ImportEmpty, IsRefusedWhereItCanNotBe) {
  ModelBuilder out;
  out.input("x", {2, 3}).integers("zero", {0}).output("y");
  out.node("Slice", {"x", "zero", "zero"}, {"y"});
  EXPECT_NE(faults(out).find("value y: the shape [0, 3] has no elements"), std::string::npos)
      << faults(out);
  ModelBuilder norm;
  norm.input("x", {2, 3}).integers("zero", {0}).output("y");
  norm.node("Slice", {"x", "zero", "zero"}, {"none"});
  norm.node("Softmax", {"none"}, {"y"});
  EXPECT_NE(faults(norm).find("operand none of shape [0, 3] has no elements"), std::string::npos)
      << faults(norm);
}

// Negative amounts cut first, and what is left is repeated.
TEST(ImportPad, NegativeAmountsInEveryMode) {
  const auto run = [](const char* mode, const Shape& pads) {
    ModelBuilder m(19);
    m.input("x", {5}, {1, 2, 3, 4, 5}).integers("pads", pads).output("y");
    m.node("Pad", {"x", "pads"}, {"y"}).set("mode", mode);
    return m.run();
  };
  expect_near(run("reflect", {-1, 2}), {2, 3, 4, 5, 4, 3});
  expect_near(run("reflect", {2, -1}), {3, 2, 1, 2, 3, 4});
  expect_near(run("edge", {2, -2}), {1, 1, 1, 2, 3});
  expect_near(run("wrap", {2, -1}), {3, 4, 1, 2, 3, 4});
  expect_near(run("edge", {-2, -2}), {3});
  ModelBuilder all(19);
  all.input("x", {2}).integers("pads", {-3, 3}).output("y");
  all.node("Pad", {"x", "pads"}, {"y"}).set("mode", "edge");
  EXPECT_NE(faults(all).find("pads -3 and 3 of 2 elements"), std::string::npos) << faults(all);
}

TEST(ImportPad, TheValueMayBeKnownAtRunTime) {
  ModelBuilder m;
  m.input("x", {2, 2}, {1, 2, 3, NAN}).input("v", {}, {7}).integers("pads", {0, 1, 1, -1});
  m.output("y").node("Pad", {"x", "pads", "v"}, {"y"});
  expect_near(m.run(), {7, 1, 7, 3, 7, 7});
}

// Until opset 8, spatial = 0 has statistics of each element.
TEST(ImportBatchNormalization, StatisticsOfEachElement) {
  ModelBuilder constant(7), running(7);
  for (ModelBuilder* m : {&constant, &running}) {
    m->input("x", {2, 1, 2}, {1, 2, 3, 4}).output("y");
    const auto add = [&](const char* name, const Floats& values) {
      if (m == &constant)
        m->weights(name, {1, 2}, values);
      else
        m->input(name, {1, 2}, values);
    };
    add("s", {1, 10});
    add("b", {100, 200});
    add("m", {1, 3});
    add("v", {0.25F, 1});
    m->node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"})
        .set("spatial", 0)
        .set("epsilon", 0.0F);
    expect_near(m->run(), {100, 190, 104, 210});
  }
}

void expect_cast(std::span<const std::pair<float, double>> rows, int to) {
  Floats x;
  for (const auto& row : rows) x.push_back(row.first);
  for (const bool back : {false, true}) {  // the store rounds, or a formula in f32
    ModelBuilder m;
    m.input("x", {static_cast<int64_t>(x.size())}, x).output("y");
    m.node("Cast", {"x"}, {back ? "half" : "y"}).set("to", to);
    if (back) m.node("Cast", {"half"}, {"y"}).set("to", TensorProto::FLOAT);
    const ir::Graph g = *m.import();
    const ir::Tensor& out = g.tensors[static_cast<size_t>(g.outputs[0])];
    EXPECT_EQ(out.dtype == ir::DType::f32, back);
    const auto all = back ? ir::evaluate(g, m.inputs) : ir::evaluate_stored(g, m.inputs);
    ASSERT_TRUE(all.ok());
    const std::vector<double>& y = (*all)[static_cast<size_t>(g.outputs[0])];
    ASSERT_EQ(y.size(), rows.size());
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y[i], rows[i].second) << rows[i].first << (back ? " and back" : "");
  }
}

// Half a unit goes to the even neighbour. Beneath 2^-14 the unit is 2^-24; from 65520 on there is
// no number.
TEST(ImportCast, RoundsToF16) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::pair<float, double> rows[] = {{0.1F, 0.0999755859375},
                                           {1.00048828125F, 1},            // 1 + 2^-11
                                           {1.00146484375F, 1.001953125},  // 1 + 3 2^-11
                                           {-1.00146484375F, -1.001953125},
                                           {2049, 2048},
                                           {2051, 2052},
                                           {65519.9921875F, 65504},
                                           {65520, INFINITY},
                                           {-1e30F, -INFINITY},
                                           {inf, INFINITY},
                                           {0x1p-14F, 0x1p-14},
                                           {0x1p-24F, 0x1p-24},
                                           {0x1p-25F, 0},
                                           {0x1.8p-25F, 0x1p-24},
                                           {0x1.8p-24F, 0x1p-23},
                                           {0, 0}};
  expect_cast(rows, TensorProto::FLOAT16);
  ModelBuilder none;
  none.input("x", {1}, {NAN}).output("y");
  none.node("Cast", {"x"}, {"y"}).set("to", TensorProto::FLOAT16);
  EXPECT_TRUE(std::isnan(none.run()[0]));
}

TEST(ImportCast, RoundsToBf16) {
  const std::pair<float, double> rows[] = {{0.1F, 0.10009765625},
                                           {1.00390625F, 1},         // 1 + 2^-8
                                           {1.01171875F, 1.015625},  // 1 + 3 2^-8
                                           {-257, -256},
                                           {259, 260},
                                           {1e30F, 0x1.94p+99},
                                           {0x1.fep+127F, 0x1.fep+127},
                                           {0x1.fefffep+127F, 0x1.fep+127},
                                           {0x1.ffp+127F, INFINITY},
                                           {-0x1.ffp+127F, -INFINITY},
                                           {0x1p-126F, 0x1p-126},
                                           {0x1.01p-120F, 0x1p-120},
                                           {0, 0}};
  expect_cast(rows, TensorProto::BFLOAT16);
}

// Two's complement, up to 2^24 in magnitude; constants in 64 bits.
TEST(ImportBitwise, AtRunTimeAndFolded) {
  const std::pair<const char*, int64_t (*)(int64_t, int64_t)> gates[] = {
      {"BitwiseAnd", [](int64_t a, int64_t b) { return a & b; }},
      {"BitwiseOr", [](int64_t a, int64_t b) { return a | b; }},
      {"BitwiseXor", [](int64_t a, int64_t b) { return a ^ b; }}};
  const Shape a = {0, -1, 5, -6, 16777216, -16777215, 16777215, 1234567},
              b = {7, -1, -3, -4, 16777216, -5, 16777215, -7654321};
  for (const auto& [op, gate] : gates) {
    ModelBuilder m(18);
    m.input("a", {8}, Floats(a.begin(), a.end()), TensorProto::INT32)
        .input("b", {8}, Floats(b.begin(), b.end()), TensorProto::INT32)
        .output("y");
    m.node(op, {"a", "b"}, {"y"});
    std::vector<double> want;
    for (size_t i = 0; i < a.size(); ++i) want.push_back(static_cast<double>(gate(a[i], b[i])));
    EXPECT_EQ(m.run(), want) << op;
  }
  ModelBuilder folded(18);
  folded.input("x", {1}, {1}, TensorProto::INT64)
      .integers("a", {(int64_t{1} << 40) + 5})
      .integers("b", {-1 - (int64_t{1} << 40)})
      .output("y");
  folded.node("BitwiseAnd", {"a", "b"}, {"c"});
  folded.node("BitwiseNot", {"c"}, {"d"});
  folded.node("Add", {"x", "d"}, {"y"});
  expect_near(folded.run(), {-5});
  ModelBuilder bytes(18);
  bytes.input("x", {3}, {0, 200, 255}, TensorProto::UINT8).output("y");
  bytes.node("BitwiseNot", {"x"}, {"y"});
  expect_near(bytes.run(), {255, 55, 0});
}

TEST(ImportBitwise, RefusesNumbersThatAreNotIntegers) {
  ModelBuilder m(18);
  m.input("x", {1}).output("y");
  m.node("BitwiseAnd", {"x", "x"}, {"y"});
  EXPECT_NE(faults(m).find("x must hold integers, it holds f32"), std::string::npos);
}

}  // namespace
}  // namespace assay::import
