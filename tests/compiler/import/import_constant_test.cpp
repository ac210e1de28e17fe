// What is folded when its operands are constant, integers exactly in 64 bits; quantised numbers.
#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

constexpr int kUint4 = 21, kInt4 = 22;
constexpr int64_t kFar = int64_t{1} << 60;  // an f32 or a double does not hold kFar + 1

std::string faults(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

// y = x + value, with x all zeros: what a constant is at run time.
std::vector<double> value_of(ModelBuilder& m, const std::string& name, const Shape& shape,
                             int type = TensorProto::FLOAT) {
  m.input("zero", shape, Floats(static_cast<size_t>(count_of(shape)), 0), type).output("result");
  m.node("Add", {"zero", name}, {"result"});
  const std::vector<double> values = m.run();
  EXPECT_EQ(m.import()->nodes.size(), 1u) << "the rest is folded";
  return values;
}

TEST(ImportNonZero, PositionsOfAConstant) {
  ModelBuilder m;
  m.input("x", {2, 3}, {1, 2, 3, 4, 5, 6})
      .weights("w", {2, 3}, {0, 5, 0, 7, 0, -1})
      .output("picked");
  m.node("NonZero", {"w"}, {"places"});
  m.node("Transpose", {"places"}, {"rows"});
  m.node("GatherND", {"x", "rows"}, {"picked"});
  expect_near(m.run(), {2, 4, 6});
  ModelBuilder places;
  places.weights("w", {2, 3}, {0, 5, 0, 7, 0, -1});
  places.node("NonZero", {"w"}, {"p"});
  expect_near(value_of(places, "p", {2, 3}, TensorProto::INT64), {0, 1, 1, 1, 0, 2});
}

TEST(ImportNonZero, OfZerosThereAreNone) {
  ModelBuilder m;
  m.weights("w", {2, 3}, Floats(6, 0));
  m.node("NonZero", {"w"}, {"p"});
  m.node("Shape", {"p"}, {"s"});
  expect_near(value_of(m, "s", {2}, TensorProto::INT64), {2, 0});
}

TEST(ImportNonZero, AtRunTimeIsRefused) {
  ModelBuilder m;
  m.input("x", {2}).output("y");
  m.node("NonZero", {"x"}, {"y"});
  EXPECT_NE(faults(m).find("NonZero of x, whose values are known only at run time"),
            std::string::npos)
      << faults(m);
}

TEST(ImportFolding, TopKOfFarIntegers) {
  ModelBuilder m;
  m.integers("a", {kFar + 1, kFar + 3, kFar, kFar + 2}).integers("k", {2}).integers("far", {kFar});
  m.node("TopK", {"a", "k"}, {"values", "places"});
  m.node("Sub", {"values", "far"}, {"near"});
  m.node("Concat", {"near", "places"}, {"c"}).set("axis", 0);
  expect_near(value_of(m, "c", {4}, TensorProto::INT64), {3, 2, 1, 3});
}

TEST(ImportFolding, ScattersOfFarIntegers) {
  ModelBuilder m(18);
  m.integers("a", {kFar, kFar, kFar}).integers("i", {2, 0}).integers("u", {kFar + 5, 7});
  m.integers("far", {kFar});
  m.node("ScatterElements", {"a", "i", "u"}, {"s"});
  m.constant<int64_t>("at", {2, 1}, TensorProto::INT64, {1, -1});
  m.node("ScatterND", {"s", "at", "u"}, {"t"}).set("reduction", "add");  // 2 kFar + 5, and 7 on top
  m.constant<int64_t>("less", {3}, TensorProto::INT64, {0, 2 * kFar, kFar});
  m.node("Sub", {"t", "less"}, {"r"});
  expect_near(value_of(m, "r", {3}, TensorProto::INT64), {7, 5, 12});
}

TEST(ImportFolding, ScatterOfFewerRowsThanTheData) {
  ModelBuilder m(13);
  m.constant<int64_t>("a", {2, 2}, TensorProto::INT64, {1, 2, 3, 4});
  m.constant<int64_t>("i", {1, 1}, TensorProto::INT64, {1});
  m.constant<int64_t>("u", {1, 1}, TensorProto::INT64, {9});
  m.node("ScatterElements", {"a", "i", "u"}, {"s"}).set("axis", 1);
  expect_near(value_of(m, "s", {2, 2}, TensorProto::INT64), {1, 9, 3, 4});
}

TEST(ImportFolding, ShiftsOfBytes) {
  for (const bool left : {true, false}) {
    ModelBuilder m;
    m.constant<uint8_t>("a", {4}, TensorProto::UINT8, {200, 3, 255, 1});
    m.constant<uint8_t>("b", {4}, TensorProto::UINT8, {3, 1, 9, 7});
    m.node("BitShift", {"a", "b"}, {"s"}).set("direction", left ? "LEFT" : "RIGHT");
    expect_near(value_of(m, "s", {4}, TensorProto::UINT8),
                left ? std::vector<double>{64, 6, 0, 128} : std::vector<double>{25, 1, 0, 0});
  }
}

TEST(ImportQuantised, AConstantWeightIsAProductsOperand) {
  ModelBuilder m;
  m.input("x", {1, 2}, {2, 10})
      .constant<int8_t>("q", {2, 2}, TensorProto::INT8, {-128, 3, 127, 5})
      .weights("s", {}, {0.5F})
      .constant<int8_t>("z", {}, TensorProto::INT8, {3});
  m.output("y");
  m.node("DequantizeLinear", {"q", "s", "z"}, {"w"});
  m.node("MatMul", {"x", "w"}, {"y"});
  // w = -65.5 0, 62 1
  expect_near(m.run(), {489, 10});
  EXPECT_EQ(m.import()->nodes.size(), 1u);
}

TEST(ImportQuantised, ScalesAlongAnAxis) {
  ModelBuilder rows;
  rows.constant<uint8_t>("q", {2, 3}, TensorProto::UINT8, {0, 1, 2, 253, 254, 255})
      .weights("s", {2}, {2, 4})
      .constant<uint8_t>("z", {2}, TensorProto::UINT8, {1, 255});
  rows.node("DequantizeLinear", {"q", "s", "z"}, {"w"}).set("axis", 0);
  expect_near(value_of(rows, "w", {2, 3}), {-2, 0, 2, -8, -4, 0});
  ModelBuilder columns;  // without a zero point, along dimension 1
  columns.constant<int32_t>("q", {2, 3}, TensorProto::INT32, {1 << 30, 1, 2, -3, -4, -5})
      .weights("s", {3}, {0x1p-20F, 2, 3});
  columns.node("DequantizeLinear", {"q", "s"}, {"w"});
  expect_near(value_of(columns, "w", {2, 3}), {1024, 2, 6, -3 * 0x1p-20, -8, -15});
}

// Five columns are two blocks of two and one of one.
TEST(ImportQuantised, ScalesOfBlocks) {
  ModelBuilder m(21);
  m.constant<int8_t>("q", {2, 5}, TensorProto::INT8, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
      .weights("s", {2, 3}, {1, 10, 100, 2, 20, 200})
      .constant<int8_t>("z", {2, 3}, TensorProto::INT8, {0, 1, 2, 3, 4, 5});
  m.node("DequantizeLinear", {"q", "s", "z"}, {"w"}).set("axis", 1).set("block_size", 2);
  expect_near(value_of(m, "w", {2, 5}), {1, 2, 20, 30, 300, 6, 8, 80, 100, 1000});
}

// Two elements in a byte, the first in the lower half.
TEST(ImportQuantised, IntegersOfFourBits) {
  for (const bool in_field : {true, false})
    for (const int type : {kUint4, kInt4}) {
      ModelBuilder m(21);
      m.constant<uint8_t>("q", {5}, type, {0xF7, 0x28, 0x01}).weights("s", {}, {2});
      m.constant<uint8_t>("z", {}, type, {0x0F});
      if (in_field)
        for (auto& t : *m.model.mutable_graph()->mutable_initializer()) {
          if (t.name() == "s") continue;
          for (const char b : t.raw_data()) t.add_int32_data(static_cast<uint8_t>(b));
          t.clear_raw_data();
        }
      m.node("DequantizeLinear", {"q", "s", "z"}, {"w"});
      // elements 7 15 8 2 1 with zero point 15, or 7 -1 -8 2 1 with -1
      expect_near(value_of(m, "w", {5}), type == kUint4 ? std::vector<double>{-16, 0, -14, -26, -28}
                                                        : std::vector<double>{16, 0, -14, 6, 4});
    }
}

TEST(ImportQuantised, FourBitsAreNotTakenForEight) {
  ModelBuilder m(21);
  m.input("x", {2}).weights("s", {}, {2}).constant<uint8_t>("z", {}, kInt4, {1}).output("y");
  m.node("QuantizeLinear", {"x", "s", "z"}, {"y"});
  EXPECT_NE(faults(m).find("operand z holds integers of 4 bits"), std::string::npos) << faults(m);
}

// Halves go to the even integer; the zero point is added; 8 bits hold the result.
TEST(ImportQuantised, ValuesBecomeTheNearestIntegers) {
  const Floats x = {-300, 1, 3, 5, 254, -1, -3};
  const std::vector<double> bytes = {0, 128, 130, 130, 255, 128, 126};
  ModelBuilder folded;
  folded.weights("x", {7}, x)
      .weights("s", {}, {2})
      .constant<uint8_t>("z", {}, TensorProto::UINT8, {128});
  folded.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  expect_near(value_of(folded, "q", {7}, TensorProto::UINT8), bytes);
  ModelBuilder running;
  running.input("x", {7}, x)
      .weights("s", {}, {2})
      .constant<int8_t>("z", {}, TensorProto::INT8, {1});
  running.output("y").node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  running.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
  // -150 0.5 1.5 2.5 127 -0.5 -1.5, rounded, plus 1, limited, less 1, doubled
  expect_near(running.run(), {-258, 0, 4, 4, 252, 0, -4});
  const ir::Graph g = *running.import();
  EXPECT_EQ(g.tensors[static_cast<size_t>(g.nodes[0].output)].dtype, ir::DType::i8);
}

// ONNX Runtime's quantiser writes a list of one scale and one number as its zero point.
TEST(ImportQuantised, OneNumberMayBeAList) {
  ModelBuilder m;
  m.constant<int32_t>("q", {3}, TensorProto::INT32, {4, -5, 6})
      .weights("s", {1}, {0.5F})
      .constant<int32_t>("z", {}, TensorProto::INT32, {2});
  m.node("DequantizeLinear", {"q", "s", "z"}, {"w"}).set("axis", 0);
  expect_near(value_of(m, "w", {3}), {1, -3.5, 2});
}

TEST(ImportQuantised, OperandsThatDoNotFit) {
  const auto expect = [](const Shape& scale, int zero_type, const char* message) {
    ModelBuilder m;
    m.constant<int8_t>("q", {2, 3}, TensorProto::INT8, {1, 2, 3, 4, 5, 6});
    m.weights("s", scale, Floats(static_cast<size_t>(count_of(scale)), 1));
    m.constant<int8_t>("z", {}, zero_type, {0}).output("y");
    m.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
    EXPECT_NE(faults(m).find(message), std::string::npos) << faults(m);
  };
  expect({2}, TensorProto::INT8, "a scale of shape [2] for operands of shape [2, 3], expected [3]");
  expect({3}, TensorProto::INT8, "a zero point of shape [] for a scale of shape [3]");
  expect({}, TensorProto::UINT8, "a zero point of u8 for i8");
}

}  // namespace
}  // namespace assay::import
