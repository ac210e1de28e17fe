// Products of quantised tensors: what they are in whole numbers, by loops of the test's own, and
// the form that the importer gives them.
#include <gmock/gmock.h>

#include <cmath>

#include "ir/computed_type.h"
#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;
using ::testing::HasSubstr;

struct Bytes {
  std::vector<int> numbers;
  explicit Bytes(size_t n, int low, unsigned seed) {
    std::mt19937 rng(seed);
    for (size_t i = 0; i < n; ++i) numbers.push_back(low + static_cast<int>(rng() % 256));
  }
  Floats floats() const { return {numbers.begin(), numbers.end()}; }
  template <class T>
  std::vector<T> as() const {
    return {numbers.begin(), numbers.end()};
  }
};

// sum over k of (a - za)(b - zb), rows x columns.
std::vector<double> product(const Bytes& a, const Bytes& b, int rows, int depth, int columns,
                            int za, int zb) {
  std::vector<double> out;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      int sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += (a.numbers[static_cast<size_t>(i * depth + k)] - za) *
               (b.numbers[static_cast<size_t>(k * columns + j)] - zb);
      out.push_back(sum);
    }
  return out;
}

const ir::Node* node_of(const ir::Graph& g, const std::string& op) {
  for (const ir::Node& n : g.nodes)
    if (n.op == op) return &n;
  return nullptr;
}

// The product reads bytes and nothing else, and adds up in i32.
void expect_plain_product(const ir::Graph& g, const std::string& op) {
  const ir::Node* n = node_of(g, op);
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(n->body, ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}));
  EXPECT_EQ(ir::computed_in(g, *n), ir::DType::i32);
  for (const ir::Read& r : n->reads)
    EXPECT_EQ(ir::bytes_of(g.tensors[static_cast<size_t>(r.tensor)].dtype), 1);
}

TEST(ImportWhole, ProductsOfIntegers) {
  constexpr int kRows = 3, kDepth = 11, kColumns = 5;
  const Bytes a(kRows * kDepth, 0, 1), b(kDepth * kColumns, -128, 2);
  for (const int za : {0, 131})
    for (const int zb : {0, -7})
      for (const bool constant : {true, false}) {
        ModelBuilder m;
        m.input("a", {kRows, kDepth}, a.floats(), TensorProto::UINT8);
        if (constant)
          m.constant("b", {kDepth, kColumns}, TensorProto::INT8, b.as<int8_t>());
        else
          m.input("b", {kDepth, kColumns}, b.floats(), TensorProto::INT8);
        m.constant<uint8_t>("za", {}, TensorProto::UINT8, {static_cast<uint8_t>(za)})
            .constant<int8_t>("zb", {}, TensorProto::INT8, {static_cast<int8_t>(zb)})
            .output("y");
        m.node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"});
        EXPECT_EQ(m.run(), product(a, b, kRows, kDepth, kColumns, za, zb)) << za << " " << zb;
        const ir::Graph g = *m.import();
        EXPECT_EQ(g.tensors[static_cast<size_t>(g.outputs[0])].dtype, ir::DType::i32);
        expect_plain_product(g, "matmul");
      }
}

// A weight of u8 around 128 becomes one of i8, and its zero point is gone.
TEST(ImportWhole, ConstantsAreShifted) {
  const Bytes a(12, 0, 3), b(12, 0, 4);
  ModelBuilder m;
  m.input("a", {3, 4}, a.floats(), TensorProto::UINT8)
      .constant("b", {4, 3}, TensorProto::UINT8, b.as<uint8_t>())
      .constant<uint8_t>("za", {}, TensorProto::UINT8, {9})
      .constant<uint8_t>("zb", {}, TensorProto::UINT8, {128})
      .output("y");
  m.node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"});
  EXPECT_EQ(m.run(), product(a, b, 3, 4, 3, 9, 128));
  const ir::Graph g = *m.import();
  expect_plain_product(g, "matmul");
  EXPECT_EQ(g.nodes.size(), 2u);  // the product, and the sums of its columns
  const ir::Node* n = node_of(g, "matmul");
  EXPECT_EQ(g.tensors[static_cast<size_t>(n->reads[1].tensor)].dtype, ir::DType::i8);
}

// A zero point per row, and one that is known only at run time.
TEST(ImportWhole, ZeroPointsThatAreNoConstantNumber) {
  const Bytes a(6, 0, 5), b(8, 0, 6);
  ModelBuilder m;
  m.input("a", {3, 2}, a.floats(), TensorProto::UINT8)
      .input("b", {2, 4}, b.floats(), TensorProto::UINT8)
      .constant<uint8_t>("za", {3}, TensorProto::UINT8, {1, 100, 255})
      .input("zb", {}, {77}, TensorProto::UINT8)
      .output("y");
  m.node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"});
  std::vector<double> want;
  const int zeros[] = {1, 100, 255};
  for (int i = 0; i < 3; ++i) {
    const std::vector<double> row = product(a, b, 3, 2, 4, zeros[i], 77);
    want.insert(want.end(), row.begin() + 4 * i, row.begin() + 4 * i + 4);
  }
  EXPECT_EQ(m.run(), want);
}

// Outside of x lies its zero point, which adds nothing.
TEST(ImportWhole, ConvolutionsOfIntegers) {
  const Bytes x(2 * 4 * 5, 0, 7), w(3 * 2 * 3 * 3, 0, 8);
  for (const int zw : {0, 128}) {
    ModelBuilder m;
    m.input("x", {1, 2, 4, 5}, x.floats(), TensorProto::UINT8)
        .constant("w", {3, 2, 3, 3}, TensorProto::UINT8, w.as<uint8_t>())
        .constant<uint8_t>("zx", {}, TensorProto::UINT8, {130})
        .constant<uint8_t>("zw", {}, TensorProto::UINT8, {static_cast<uint8_t>(zw)})
        .output("y");
    m.node("ConvInteger", {"x", "w", "zx", "zw"}, {"y"}).set("pads", Shape{1, 1, 1, 1});
    std::vector<double> want;
    for (int o = 0; o < 3; ++o)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 5; ++j) {
          int sum = 0;
          for (int c = 0; c < 2; ++c)
            for (int r = 0; r < 3; ++r)
              for (int s = 0; s < 3; ++s) {
                const int y = i + r - 1, z = j + s - 1;
                if (y < 0 || y >= 4 || z < 0 || z >= 5) continue;
                sum += (x.numbers[static_cast<size_t>((c * 4 + y) * 5 + z)] - 130) *
                       (w.numbers[static_cast<size_t>(((o * 2 + c) * 3 + r) * 3 + s)] - zw);
              }
          want.push_back(sum);
        }
    EXPECT_EQ(m.run(), want);
    const ir::Graph g = *m.import();
    if (zw == 128) {
      expect_plain_product(g, "conv");
      EXPECT_EQ(node_of(g, "conv")->reads[0].fill, 130);
    }
  }
}

// DequantizeLinear of x, w and b, Conv, Relu, QuantizeLinear: x w in i32, the rest behind it.
TEST(ImportWhole, QuantisedConvolutionsMultiplyIntegers) {
  const Bytes x(2 * 3 * 3, 0, 9), w(2 * 2, -128, 10);
  ModelBuilder m;
  m.input("x.q", {1, 2, 3, 3}, x.floats(), TensorProto::UINT8)
      .weights("x.s", {}, {0.03125F})
      .constant<uint8_t>("x.z", {}, TensorProto::UINT8, {120})
      .constant("w.q", {2, 2, 1, 1}, TensorProto::INT8, w.as<int8_t>())
      .weights("w.s", {2}, {0.0625F, 0.125F})
      .constant<int8_t>("w.z", {2}, TensorProto::INT8, {0, 0})
      .weights("b", {2}, {0.5F, -0.25F})
      .weights("y.s", {}, {0.75F})
      .constant<uint8_t>("y.z", {}, TensorProto::UINT8, {3})
      .output("y");
  m.node("DequantizeLinear", {"x.q", "x.s", "x.z"}, {"x"});
  m.node("DequantizeLinear", {"w.q", "w.s", "w.z"}, {"w"}).set("axis", 0);
  m.node("Conv", {"x", "w", "b"}, {"c"});
  m.node("Relu", {"c"}, {"r"});
  m.node("QuantizeLinear", {"r", "y.s", "y.z"}, {"y"});
  std::vector<double> want;
  for (size_t o = 0; o < 2; ++o)
    for (size_t i = 0; i < 9; ++i) {
      double sum = 0;
      for (size_t c = 0; c < 2; ++c)
        sum += (x.numbers[c * 9 + i] - 120) * 0.03125 * w.numbers[o * 2 + c] *
               (o == 0 ? 0.0625 : 0.125);
      const double relu = std::max(0.0, sum + (o == 0 ? 0.5 : -0.25));
      want.push_back(std::clamp(std::nearbyint(relu / 0.75) + 3, 0.0, 255.0));
    }
  EXPECT_EQ(m.run(), want);
  Diags notes;
  const ir::Graph g = *m.import({}, &notes);
  EXPECT_TRUE(notes.empty()) << render(notes);
  expect_plain_product(g, "conv");
  EXPECT_EQ(node_of(g, "dequantise"), nullptr);
}

// A pool of numbers is one of the bytes that stand for them; a product takes these.
TEST(ImportWhole, PoolsAndReshapesKeepTheIntegers) {
  const Bytes x(16, 0, 13), w(4, -128, 14);
  ModelBuilder m;
  m.input("x.q", {1, 1, 4, 4}, x.floats(), TensorProto::UINT8)
      .weights("s", {}, {0.5F})
      .constant<uint8_t>("z", {}, TensorProto::UINT8, {100})
      .constant("w.q", {4, 1}, TensorProto::INT8, w.as<int8_t>())
      .integers("flat", {1, 4})
      .output("y");
  m.node("DequantizeLinear", {"x.q", "s", "z"}, {"x"});
  m.node("DequantizeLinear", {"w.q", "s"}, {"w"});
  m.node("MaxPool", {"x"}, {"p"}).set("kernel_shape", Shape{2, 2}).set("strides", Shape{2, 2});
  m.node("Reshape", {"p", "flat"}, {"r"});
  m.node("MatMul", {"r", "w"}, {"y"});
  double want = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      int most = 0;
      for (int k = 0; k < 4; ++k)
        most = std::max(most, x.numbers[static_cast<size_t>((2 * i + k / 2) * 4 + 2 * j + k % 2)]);
      want += (most - 100) * 0.5 * w.numbers[static_cast<size_t>(2 * i + j)] * 0.5;
    }
  expect_near(m.run(), {want});
  const ir::Graph g = *m.import();
  expect_plain_product(g, "matmul");
  EXPECT_EQ(node_of(g, "dequantise"), nullptr);
}

// A bias of i32 in the scale of the products is added to their sum, all scales are one factor, and
// half a unit goes to the even step: (2 a + 5) / 4, and 7.
TEST(ImportWhole, OneFactorStandsForAllScales) {
  for (const bool own_scale : {true, false}) {
    ModelBuilder m;
    m.input("a.q", {5, 1}, {-3, 0, 1, 2, 90}, TensorProto::INT8)
        .weights("a.s", {}, {0.5F})
        .constant<int8_t>("b.q", {1, 1}, TensorProto::INT8, {2})
        .weights("b.s", {}, {0.25F})
        .constant<int32_t>("c.q", {1}, TensorProto::INT32, {5})
        .weights("c.s", {}, {own_scale ? 0.125F : 0.25F})
        .weights("y.s", {}, {0.5F})
        .constant<int8_t>("y.z", {}, TensorProto::INT8, {7})
        .output("y");
    m.node("DequantizeLinear", {"a.q", "a.s"}, {"a"});
    m.node("DequantizeLinear", {"b.q", "b.s"}, {"b"});
    m.node("DequantizeLinear", {"c.q", "c.s"}, {"c"});
    m.node("Gemm", {"a", "b", "c"}, {"f"});
    m.node("QuantizeLinear", {"f", "y.s", "y.z"}, {"y"});
    std::vector<double> want;
    for (const int a : {-3, 0, 1, 2, 90})
      want.push_back(std::nearbyint((2 * a + (own_scale ? 5 : 10)) / 4.0) + 7);
    EXPECT_EQ(m.run(), want);
    const ir::Graph g = *m.import();
    std::vector<std::string> ops;
    for (const ir::Node& n : g.nodes) ops.push_back(n.op);
    if (own_scale) {
      EXPECT_EQ(ops, (std::vector<std::string>{"matmul", "bias", "scale", "quantise"}));
    }
    expect_plain_product(g, "matmul");
  }
}

// Scales along the sum can not stand behind it.
TEST(ImportWhole, WhatCanNotBeScaledBehindIsComputedInF32AndSaid) {
  const Bytes b(6, -128, 11), a(2, 0, 12);
  ModelBuilder m;
  m.input("a.q", {1, 2}, a.floats(), TensorProto::UINT8)
      .weights("a.s", {}, {0.5F})
      .constant("b.q", {2, 3}, TensorProto::INT8, b.as<int8_t>())
      .weights("b.s", {2}, {0.25F, 2})
      .output("y");
  m.node("DequantizeLinear", {"a.q", "a.s"}, {"a"});
  m.node("DequantizeLinear", {"b.q", "b.s"}, {"b"}).set("axis", 0);
  m.node("MatMul", {"a", "b"}, {"y"});
  std::vector<double> want;
  for (size_t j = 0; j < 3; ++j)
    want.push_back(a.numbers[0] * 0.5 * b.numbers[j] * 0.25 +
                   a.numbers[1] * 0.5 * b.numbers[3 + j] * 2);
  expect_near(m.run(), want);
  Diags notes;
  ASSERT_TRUE(m.import({}, &notes).ok());
  EXPECT_THAT(render(notes), HasSubstr("multiplied in f32: scales lie along what is summed"));
}

TEST(ImportWhole, OperandsThatDoNotFitAreRefusedByNode) {
  const auto faults = [](const Shape& zero, int type) {
    ModelBuilder m;
    m.input("a", {2, 3}, {}, TensorProto::UINT8).input("b", {3, 4}, {}, type);
    m.constant("z", zero, TensorProto::UINT8,
               std::vector<uint8_t>(static_cast<size_t>(count_of(zero))));
    m.output("y").node("MatMulInteger", {"a", "b", "z"}, {"y"});
    const auto g = m.import();
    return g.ok() ? "" : render(g.diags());
  };
  EXPECT_THAT(
      faults({5}, TensorProto::INT8),
      HasSubstr("node make_y (MatMulInteger, output y): a zero point of shape [5], expected "
                "one number or 2"));
  EXPECT_THAT(faults({}, TensorProto::FLOAT), HasSubstr("b holds f32, expected i8 or u8"));
}

// max 3, min -1: scale 4/255, zero point 63.75 rounded.
TEST(ImportWhole, DynamicQuantisation) {
  ModelBuilder m;
  m.input("x", {4}, {3, -1, 0, 1}).output("y");
  m.node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"});
  EXPECT_EQ(m.run(), (std::vector<double>{255, 0, 64, 128}));
}

}  // namespace
}  // namespace assay::import
