#include "toolkit/model_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "hwdesc/target.h"

namespace assay::toolkit {
namespace {

// y = x w, all in `type`; w has 3 rows of 0.1.
ir::Graph product(ir::DType type) {
  ir::Graph g;
  g.name = "product";
  g.tensors = {{"x", type, {1, 3}, -1}, {"w", type, {3, 2}, 0}, {"y", type, {1, 2}, -1}};
  std::vector<std::byte> bytes;
  if (type == ir::DType::f32) {
    const std::vector<float> w(6, 0.1F);
    const auto raw = std::as_bytes(std::span(w));
    bytes.assign(raw.begin(), raw.end());
  } else {
    const std::vector<uint16_t> w(6, type == ir::DType::f16 ? 0x2E66 : 0x3DCD);
    const auto raw = std::as_bytes(std::span(w));
    bytes.assign(raw.begin(), raw.end());
  }
  g.constants = {{bytes}};
  ir::Node n{"product", "matmul", {{"m", 1}, {"n", 2}, {"k", 3}}, 2, {}, {}, ir::Combiner::sum};
  n.reads = {{0, {ir::variable(0), ir::variable(2)}, false, 0},
             {1, {ir::variable(2), ir::variable(1)}, false, 0}};
  n.body = ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)});
  g.nodes = {n};
  g.inputs = {0};
  g.outputs = {2};
  return g;
}

// Weights, inputs and the result are rounded: between a quarter of one rounding and three.
TEST(ModelType, ErrorsAreThoseOfTheTypesDigits) {
  for (const auto& [type, roundoff] :
       {std::pair{ir::DType::f16, 0x1p-11}, std::pair{ir::DType::bf16, 0x1p-8}}) {
    const auto errors = errors_of_type(product(ir::DType::f32), product(type));
    ASSERT_TRUE(errors.ok()) << render(errors.diags());
    ASSERT_EQ(errors->size(), 1U);
    EXPECT_EQ(errors->front().output, "y");
    EXPECT_GT(errors->front().relative, roundoff / 8);
    EXPECT_LT(errors->front().relative, 6 * roundoff);
    const Diags notes = notes_of(*errors, "f16");
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].severity, Severity::note);
    EXPECT_EQ(notes[0].message.rfind("stored in f16, output y differs by ", 0), 0U);
  }
  const auto none = errors_of_type(product(ir::DType::f32), product(ir::DType::f32));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->front().relative, 0);
}

TEST(ModelType, NamesTheTypesOfInputsAndOutputs) {
  EXPECT_EQ(types_of(product(ir::DType::bf16)), "bf16");
  ir::Graph mixed = product(ir::DType::f16);
  mixed.tensors[2].dtype = ir::DType::f32;
  EXPECT_EQ(types_of(mixed), "f16 f32");
}

TEST(ModelType, SaysWhatThePlanStoresWider) {
  const ir::Graph g = product(ir::DType::f16);
  ir::Plan plan;
  for (const ir::Tensor& t : g.tensors) {
    ir::PlanTensor p;
    p.name = t.name;
    p.dtype = t.dtype;
    p.kind = t.constant >= 0 ? ir::TensorKind::constant : ir::TensorKind::temporary;
    plan.tensors.push_back(p);
  }
  EXPECT_TRUE(notes_of_storage(g, plan).empty());
  for (ir::PlanTensor& t : plan.tensors)
    if (t.kind == ir::TensorKind::constant) t.dtype = ir::DType::f32;
  const Diags notes = notes_of_storage(g, plan);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].severity, Severity::note);
  EXPECT_EQ(notes[0].message,
            "stored as f32 instead of f16, which is estimated faster: 1 weights, 0 tensors between "
            "operators");
}

TEST(ModelType, WidensWhatKernelsCanNotStore) {
  hwdesc::Target target;
  target.dialect.known = true;
  target.dialect.name = "made-up";
  target.dialect.dtypes = {"f32", "f16"};
  ir::Graph kept = product(ir::DType::f16);
  EXPECT_TRUE(widen(kept, target).empty());
  EXPECT_EQ(kept, product(ir::DType::f16));
  ir::Graph widened = product(ir::DType::bf16);
  const Diags notes = widen(widened, target);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].message,
            "3 values are stored in f32: made-up kernels can not store their type");
  EXPECT_EQ(types_of(widened), "f32");
  ASSERT_EQ(widened.constants[0].bytes.size(), 24U);
  float first = 0;
  std::memcpy(&first, widened.constants[0].bytes.data(), sizeof first);
  EXPECT_EQ(first, 0.10009765625F);
}

}  // namespace
}  // namespace assay::toolkit
