// f16 and bf16 models: which tensors keep the type, and conversion to another one.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ir/element.h"
#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

std::map<std::string, ir::DType> types_of(const ir::Graph& g) {
  std::map<std::string, ir::DType> out;
  for (const ir::Tensor& t : g.tensors) out[t.name] = t.dtype;
  return out;
}

// x in `type`, its softmax, and the position of its largest value.
ModelBuilder rows(int type) {
  ModelBuilder m;
  m.input("x", {2, 5}, {1, 2, 3, 4, 5, -1, 0, 1, 0, 1}, type).output("y").output("at");
  m.node("Softmax", {"x"}, {"y"}).set("axis", 1);
  m.node("ArgMax", {"x"}, {"at"}).set("axis", 1);
  return m;
}

TEST(ImportTypes, ValuesKeepTheirsAndWhatIsBetweenThemIsF32) {
  for (const auto& [onnx, type] : {std::pair{int{TensorProto::FLOAT16}, ir::DType::f16},
                                   std::pair{int{TensorProto::BFLOAT16}, ir::DType::bf16}}) {
    const Result<ir::Graph> g = rows(onnx).import();
    ASSERT_TRUE(g.ok()) << render(g.diags());
    int between = 0;
    for (const auto& [name, found] : types_of(*g)) {
      const bool named = name == "x" || name == "y";
      EXPECT_EQ(found, named ? type : ir::DType::f32) << name;
      between += name != "x" && name != "y" && name != "at" ? 1 : 0;
    }
    EXPECT_GE(between, 3) << "maximum, powers and sum";
  }
}

TEST(ImportTypes, WeightsKeepTheirBytes) {
  ModelBuilder m;
  const std::vector<uint16_t> bits = {0x3C00, 0x3555, 0xC000, 0x0001};  // 1, about 1/3, -2, 2^-24
  m.input("x", {1, 2}, {1, 1}, TensorProto::FLOAT16)
      .constant<uint16_t>("w", {2, 2}, TensorProto::FLOAT16, bits)
      .output("y");
  m.node("MatMul", {"x", "w"}, {"y"});
  const Result<ir::Graph> g = m.import();
  ASSERT_TRUE(g.ok()) << render(g.diags());
  for (const ir::Tensor& t : g->tensors)
    if (t.constant >= 0) {
      EXPECT_EQ(t.dtype, ir::DType::f16);
      const std::vector<std::byte>& bytes = g->constants[static_cast<size_t>(t.constant)].bytes;
      ASSERT_EQ(bytes.size(), 8U);
      EXPECT_EQ(std::memcmp(bytes.data(), bits.data(), 8), 0);
    }
  const std::vector<double> y = m.run();
  EXPECT_NEAR(y[0], -1, 1e-12);
  EXPECT_NEAR(y[1], 0.333251953125 + 0x1p-24, 1e-12);
}

// A model in f32 with weights that f16 holds, weights that it does not, and one number.
ModelBuilder product() {
  ModelBuilder m;
  m.input("x", {1, 2}, {1, 1})
      .weights("w", {2, 2}, {1.0F / 3, 2, 3, 4})
      .weights("large", {1, 2}, {1e6F, 1})
      .weights("one", {1, 1}, {0.1F})
      .output("y");
  m.node("MatMul", {"x", "w"}, {"product"});
  m.node("Add", {"product", "large"}, {"sum"});
  m.node("Transpose", {"one"}, {"turned"});
  m.node("MatMul", {"turned", "sum"}, {"y"});
  return m;
}

TEST(ImportTypes, AnotherTypeOnRequest) {
  OnnxOptions options;
  options.type = ir::DType::f16;
  Diags notes;
  const Result<ir::Graph> g = product().import(options, &notes);
  ASSERT_TRUE(g.ok()) << render(g.diags());
  const std::map<std::string, ir::DType> types = types_of(*g);
  for (const char* name : {"x", "w", "product", "sum", "y"})
    EXPECT_EQ(types.at(name), ir::DType::f16) << name;
  EXPECT_EQ(types.at("large"), ir::DType::f32);
  EXPECT_EQ(types.at("turned"), ir::DType::f32) << "no memory is saved, and digits would be lost";
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].message, "value large holds numbers beyond the range of f16; it stays f32");
  const auto all = ir::evaluate(*g, product().inputs);
  ASSERT_TRUE(all.ok());
  for (size_t i = 0; i < g->tensors.size(); ++i) {
    if (g->tensors[i].name != "product") continue;
    EXPECT_EQ((*all)[i][0], 0.333251953125 + 3) << "weights are rounded";
  }
}

TEST(ImportTypes, BackToF32) {
  OnnxOptions options;
  options.type = ir::DType::f32;
  const Result<ir::Graph> g = rows(TensorProto::FLOAT16).import(options);
  ASSERT_TRUE(g.ok()) << render(g.diags());
  for (const auto& [name, type] : types_of(*g)) EXPECT_EQ(type, ir::DType::f32) << name;
}

// A cast back asks for the rounding between them, which no register may skip.
TEST(ImportTypes, ACastThereAndBackRounds) {
  for (const int to : {int{TensorProto::FLOAT}, int{TensorProto::INT32}}) {
    ModelBuilder m;
    m.input("x", {3}, {2049.9F, 0.1F, -4097.9F}).output("y");
    m.node("Cast", {"x"}, {"half"}).set("to", TensorProto::FLOAT16);
    m.node("Cast", {"half"}, {"y"}).set("to", to);
    const std::vector<double> y = m.run();  // in float64, which rounds nothing by itself
    const bool whole = to == TensorProto::INT32;
    EXPECT_EQ(y[0], 2050);
    EXPECT_EQ(y[1], whole ? 0 : 0.0999755859375);
    EXPECT_EQ(y[2], -4096);
  }
}

constexpr int kE4m3 = 17, kE5m2 = 19;  // FLOAT8E4M3FN, FLOAT8E5M2

// Casts to 8 bits round to even and saturate.
TEST(ImportTypes, ACastToFloatsOf8BitsRoundsAndSaturates) {
  for (const int type : {kE4m3, kE5m2})
    for (const bool back : {false, true}) {
      ModelBuilder m;
      m.input("x", {5}, {1.0625F, 1.1875F, -0.3F, 1e6F, -1e-9F}).output("y");
      m.node("Cast", {"x"}, {"small"}).set("to", type);
      m.node("Cast", {"small"}, {back ? "y" : "wide"}).set("to", TensorProto::FLOAT16);
      if (!back) m.node("Cast", {"wide"}, {"y"}).set("to", TensorProto::FLOAT);
      EXPECT_EQ(m.run(), (type == kE4m3 ? std::vector<double>{1, 1.25, -0.3125, 448, 0}
                                        : std::vector<double>{1, 1.25, -0.3125, 57344, 0}));
    }
}

TEST(ImportTypes, ConstantsOf8BitsAreReadAndKept) {
  const std::vector<uint8_t> codes = {0x38, 0x30, 0xc0, 0x01};  // of e4m3: 1, 0.5, -2, 2^-9
  ModelBuilder m;
  m.input("x", {1, 2}, {1, 1}).constant<uint8_t>("w", {2, 2}, kE4m3, codes).output("y");
  m.node("Cast", {"w"}, {"wide"}).set("to", TensorProto::FLOAT);
  m.node("MatMul", {"x", "wide"}, {"y"});
  EXPECT_EQ(m.run(), (std::vector<double>{-1, 0.5 + 0x1p-9}));
}

TEST(ImportTypes, ACastThatDoesNotSaturateIsRefused) {
  ModelBuilder m;
  m.input("x", {1}, {1}).output("y");
  m.node("Cast", {"x"}, {"small"}).set("to", kE5m2).set("saturate", 0);
  m.node("Cast", {"small"}, {"y"}).set("to", TensorProto::FLOAT);
  EXPECT_NE(render(m.import().diags()).find("saturate = 0, to f8e5m2"), std::string::npos);
}

}  // namespace
}  // namespace assay::import
