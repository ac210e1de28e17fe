// Inputs whose shape the model leaves open, and the shapes that the options give.
#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

// y = relu(x); extents of 0 are dimensions without any field.
ModelBuilder relu_of(const Shape& shape) {
  ModelBuilder m(11);
  m.input("x", shape).output("y");
  m.node("Relu", {"x"}, {"y"});
  auto* dims = m.model.mutable_graph()
                   ->mutable_input(0)
                   ->mutable_type()
                   ->mutable_tensor_type()
                   ->mutable_shape()
                   ->mutable_dim();
  for (auto& d : *dims)
    if (d.dim_value() == 0) d.clear_dim_value();
  return m;
}

OnnxOptions shaped(const Shape& shape, const char* name = "x") {
  OnnxOptions o;
  o.shapes[name] = shape;
  return o;
}

std::string faults(const ModelBuilder& m, const OnnxOptions& options = {}) {
  const Result<ir::Graph> g = m.import(options);
  return g.ok() ? "" : render(g.diags());
}

TEST(ImportOpenShape, MinusOneAndNothing) {
  const ModelBuilder batch = relu_of({-1, 3, 8, 8}), image = relu_of({1, 3, 0, 0});
  EXPECT_EQ(faults(batch),
            "test.onnx: error: value x: its dimension 0 has neither an extent nor a name\n"
            "hint: --shape x=?x3x8x8 with a number for each open extent\n");
  EXPECT_EQ(faults(image),
            "test.onnx: error: value x: its dimension 2 has neither an extent nor a name\n"
            "hint: --shape x=1x3x?x? with a number for each open extent\n");
  EXPECT_EQ(batch.import(shaped({2, 3, 8, 8}))->tensors[0].shape, (Shape{2, 3, 8, 8}));
  EXPECT_EQ(image.import(shaped({1, 3, 48, 192}))->tensors[0].shape, (Shape{1, 3, 48, 192}));
}

TEST(ImportOpenShape, WhatContradictsTheModel) {
  const ModelBuilder m = relu_of({-1, 3, 8, 8});
  EXPECT_EQ(faults(m, shaped({1, 3, 8, 9})),
            "test.onnx: error: value x: --shape gives 9 for its dimension 3, the model fixes 8\n"
            "hint: the model's shape is ?x3x8x8\n");
  EXPECT_EQ(faults(m, shaped({1, 3, 8})),
            "test.onnx: error: value x: --shape gives 3 dimensions, the model has 4\n"
            "hint: the model's shape is ?x3x8x8\n");
  EXPECT_NE(faults(m, shaped({0, 3, 8, 8})).find("has no elements"), std::string::npos);
  const std::string other = faults(relu_of({1, 3}), shaped({1, 3}, "image"));
  EXPECT_EQ(other,
            "test.onnx: error: there is no input image, which --shape names\n"
            "hint: there are: x\n");
}

TEST(ImportOpenShape, AConstantHasItsShape) {
  ModelBuilder m;
  m.input("x", {2}).weights("w", {2}, {1, 2}).output("y");
  m.node("Add", {"x", "w"}, {"y"});
  EXPECT_EQ(faults(m, shaped({2}, "w")),
            "test.onnx: error: there is no input w, which --shape names\n"
            "hint: it is a constant\n");
}

TEST(ImportOpenShape, NamesMayBeGivenBothWays) {
  ModelBuilder m = relu_of({0, 3});
  m.model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("N");
  EXPECT_EQ(faults(m),
            "test.onnx: error: value x: it has the dimension \"N\" without a fixed extent\n"
            "hint: --dim N=1 gives it one, or --shape x=Nx3 with a number for each open extent\n");
  OnnxOptions both = shaped({4, 3});
  EXPECT_EQ(m.import(both)->tensors[0].shape, (Shape{4, 3}));
  both.dims["N"] = 4;
  EXPECT_EQ(m.import(both)->tensors[0].shape, (Shape{4, 3}));
  both.dims["N"] = 5;
  EXPECT_EQ(faults(m, both),
            "test.onnx: error: value x: --shape gives 4 for its dimension 0, --dim N=5\n");
}

TEST(ImportOpenShape, AnInputWithoutARank) {
  ModelBuilder m = relu_of({2});
  m.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_NE(faults(m).find("value x: the input has no shape\nhint: --shape x="), std::string::npos)
      << faults(m);
  EXPECT_EQ(m.import(shaped({2, 5}))->tensors[0].shape, (Shape{2, 5}));
}

}  // namespace
}  // namespace assay::import
