// Which type a node computes in, and what evaluation makes of whole numbers.
#include "ir/computed_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/element.h"

namespace assay::ir {
namespace {

using ::testing::HasSubstr;

// out[i] = body over x[i] and y[i], or the sum of that over i.
Graph binary(DType a, DType b, DType out, Scalar body, int64_t n, bool sums = false) {
  Graph g;
  g.name = "g";
  g.tensors = {{"a", a, {n}, -1}, {"b", b, {n}, -1}, {"out", out, {}, -1}};
  if (!sums) g.tensors[2].shape = {n};
  g.inputs = {0, 1};
  g.outputs = {2};
  Node node;
  node.name = "node";
  node.op = "op";
  node.axes = {{"i", n}};
  node.output = 2;
  node.reads = {{0, {variable(0)}, false, 0, {}}, {1, {variable(0)}, false, 0, {}}};
  node.body = std::move(body);
  node.combine = sums ? Combiner::sum : Combiner::none;
  g.nodes = {node};
  return g;
}

Scalar of(ScalarOp op) { return apply(op, {read(0), read(1)}); }

DType type_of(const Graph& g) { return computed_in(g, g.nodes[0]); }

TEST(ComputedType, whole_numbers_are_computed_in_i32) {
  using D = DType;
  for (const D a : {D::i8, D::u8, D::i32})
    for (const D b : {D::i8, D::u8, D::i32})
      for (const D out : {D::i8, D::u8, D::i32})
        for (const ScalarOp op : {ScalarOp::add, ScalarOp::sub, ScalarOp::mul, ScalarOp::max,
                                  ScalarOp::min, ScalarOp::less, ScalarOp::equal})
          EXPECT_EQ(type_of(binary(a, b, out, of(op), 4)), D::i32);
}

TEST(ComputedType, all_else_is_computed_in_f32) {
  using D = DType;
  for (const D t : {D::f32, D::f16, D::bf16}) {
    EXPECT_EQ(type_of(binary(t, D::i8, D::i32, of(ScalarOp::mul), 4)), D::f32);
    EXPECT_EQ(type_of(binary(D::i8, D::i8, t, of(ScalarOp::mul), 4)), D::f32);
  }
  for (const ScalarOp op : {ScalarOp::div, ScalarOp::pow})
    EXPECT_EQ(type_of(binary(D::i8, D::i8, D::i32, of(op), 4)), D::f32);
  for (const double c : {0.5, 4e9})
    EXPECT_EQ(type_of(binary(D::i8, D::i8, D::i32,
                             apply(ScalarOp::mul, {of(ScalarOp::add), number(c)}), 4)),
              D::f32);
  Graph product = binary(D::i8, D::i8, D::i32, of(ScalarOp::mul), 4, true);
  EXPECT_EQ(type_of(product), D::i32);
  product.nodes[0].combine = Combiner::product;
  EXPECT_EQ(type_of(product), D::f32);
  Graph guarded = binary(D::i8, D::i8, D::i32, of(ScalarOp::max), 4);
  guarded.nodes[0].reads[0].guarded = true;
  guarded.nodes[0].reads[0].fill = -HUGE_VAL;
  EXPECT_EQ(type_of(guarded), D::f32);
}

TEST(ComputedType, what_registers_keep) {
  using D = DType;
  const auto keeps = [](D a, D out) {
    const Graph g = binary(a, a, out, of(ScalarOp::add), 4);
    return keeps_value(g, g.nodes[0]);
  };
  EXPECT_TRUE(keeps(D::i8, D::i32));
  EXPECT_TRUE(keeps(D::i8, D::f32));
  EXPECT_TRUE(keeps(D::f32, D::f16));
  EXPECT_FALSE(keeps(D::f32, D::i32));
  EXPECT_FALSE(keeps(D::i8, D::i8));
}

TEST(ComputedType, evaluation_rounds_to_even_and_saturates) {
  Graph g = binary(DType::f32, DType::f32, DType::u8, of(ScalarOp::mul), 5);
  auto all =
      evaluate(g, std::vector<std::vector<float>>{{0.5F, 1.5F, 2.5F, -3, 300}, {1, 1, 1, 1, 1}});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)[2], (std::vector<double>{0, 2, 2, 0, 255}));
  g.tensors[2].dtype = DType::i8;
  all = evaluate(g,
                 std::vector<std::vector<float>>{{0.5F, -1.5F, -2.5F, -129, 300}, {1, 1, 1, 1, 1}});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)[2], (std::vector<double>{0, -2, -2, -128, 127}));
}

TEST(ComputedType, sums_that_may_overflow_are_said) {
  const auto note = [](DType a, DType b, int64_t n) {
    const Diags all = overflow_notes(binary(a, b, DType::i32, of(ScalarOp::mul), n, true));
    return all.empty() ? std::string() : all[0].message;
  };
  // 2^31 - 1 = 131071 * 128 * 128 + 16383
  EXPECT_EQ(note(DType::i8, DType::i8, 131071), "");
  EXPECT_THAT(note(DType::i8, DType::i8, 131072), HasSubstr("they may from 131072 terms on"));
  // 33025 * 255 * 255 = 2147450625
  EXPECT_EQ(note(DType::u8, DType::u8, 33025), "");
  EXPECT_THAT(note(DType::u8, DType::u8, 33026),
              HasSubstr("node node: sums of 33026 terms in i32"));
  EXPECT_EQ(note(DType::i32, DType::i8, 1000000), "");
}

}  // namespace
}  // namespace assay::ir
