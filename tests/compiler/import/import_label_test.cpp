// Labels of imported operators: operator, shape, window and the ONNX node's name.
#include "ir/label.h"
#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

// Labels of the graph's nodes, each with its own name.
std::vector<std::string> labels_of(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  if (!g.ok()) {
    ADD_FAILURE() << render(g.diags());
    return {};
  }
  std::vector<std::string> out;
  for (const ir::Node& n : g->nodes) {
    ir::Graph chain = *g;
    chain.nodes = {n};
    out.push_back(ir::label_of(chain, n.name));
  }
  return out;
}

TEST(ImportLabel, ConvolutionsAndPoolsShowTheirWindow) {
  ModelBuilder m;
  m.input("x", {1, 3, 8, 8}).weights("w", {4, 3, 3, 5}, Random().floats({4, 3, 3, 5}));
  m.node("Conv", {"x", "w"}, {"c"}).set("pads", Shape{1, 2, 1, 2});
  m.node("Relu", {"c"}, {"r"});
  m.node("MaxPool", {"r"}, {"y"}).set("kernel_shape", Shape{2, 2}).set("strides", Shape{2, 2});
  m.output("y");
  EXPECT_EQ(labels_of(m),
            (std::vector<std::string>{"conv 4x8x8 3x5 (make_c)", "relu 4x8x8 (make_r)",
                                      "max_pool 4x4x4 2x2 (make_y)"}));
}

TEST(ImportLabel, DepthwiseConvolutionsHaveNoChannelsInTheirWindow) {
  ModelBuilder m;
  m.input("x", {1, 4, 8, 8}).weights("w", {4, 1, 3, 3}, Random().floats({4, 1, 3, 3}));
  m.node("Conv", {"x", "w"}, {"y"}).set("group", 4);
  m.output("y");
  EXPECT_EQ(labels_of(m), (std::vector<std::string>{"depthwise 4x6x6 3x3 (make_y)"}));
}

TEST(ImportLabel, ProductsShowRowsColumnsAndDepth) {
  ModelBuilder m;
  m.input("x", {1, 7, 5}).input("b", {1, 3, 5, 11}).input("a", {1, 3, 7, 5});
  m.weights("w", {5, 6}, Random().floats({5, 6}));
  m.node("MatMul", {"x", "w"}, {"y"});
  m.node("MatMul", {"a", "b"}, {"z"});
  m.output("y").output("z");
  EXPECT_EQ(labels_of(m),
            (std::vector<std::string>{"matmul 7x6x5 (make_y)", "matmul 3x7x11x5 (make_z)"}));
}

TEST(ImportLabel, AProductOfOneRowKeepsIt) {
  ModelBuilder m;
  m.input("x", {1, 5}).weights("w", {5, 6}, Random().floats({5, 6}));
  m.node("Gemm", {"x", "w"}, {"y"});
  m.output("y");
  EXPECT_EQ(labels_of(m), (std::vector<std::string>{"matmul 1x6x5 (make_y)"}));
}

TEST(ImportLabel, ANodeWithoutANameIsCalledAfterItsOutput) {
  ModelBuilder m;
  m.input("x", {2, 3});
  m.node("Relu", {"x"}, {"y"}).proto()->clear_name();
  m.output("y");
  EXPECT_EQ(labels_of(m), (std::vector<std::string>{"relu 2x3 (y)"}));
}

}  // namespace
}  // namespace assay::import
