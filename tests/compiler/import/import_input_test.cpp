// The element types that a model declares for its inputs outlive the narrowing to f32.
#include <gmock/gmock.h>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using testing::ElementsAre;

TEST(ImportInputs, KeepTheTypeOfIntegers) {
  ModelBuilder m;
  m.weights("table", {5, 2}, Floats(10, 1)).input("x", {3, 2}).output("y");
  m.input("ids", {3}, {}, onnx::TensorProto::INT64)
      .input("keep", {3, 2}, {}, onnx::TensorProto::BOOL);
  m.node("Gather", {"table", "ids"}, {"rows"});
  m.node("Where", {"keep", "rows", "x"}, {"y"});
  const auto g = m.import();
  ASSERT_TRUE(g.ok()) << render(g.diags());
  EXPECT_THAT(g->input_types, ElementsAre(ir::DType::f32, ir::DType::i64, ir::DType::boolean));
  for (const ir::Tensor& t : g->tensors) EXPECT_EQ(t.dtype, ir::DType::f32) << t.name;
}

TEST(ImportInputs, OfFloatsNeedNoTypes) {
  ModelBuilder m;
  m.input("x", {3}).output("y");
  m.node("Relu", {"x"}, {"y"});
  const auto g = m.import();
  ASSERT_TRUE(g.ok()) << render(g.diags());
  EXPECT_TRUE(g->input_types.empty());
}

}  // namespace
}  // namespace assay::import
