// Operators of type i8 as kernels compute them, and as a library's are priced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ir/computed_type.h"
#include "ir/element.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using D = ir::DType;

std::vector<D> types_of(const ir::Graph& g) {
  std::vector<D> out;
  for (const ir::Tensor& t : g.tensors) out.push_back(t.dtype);
  return out;
}

TEST(WholeOperators, SumsAreI32AndWeightsStayConstants) {
  const auto matmul = compiler::operator_for_kernels("matmul m=3 n=5 k=7 type=i8");
  ASSERT_TRUE(matmul.ok());
  EXPECT_EQ(types_of(*matmul), (std::vector<D>{D::i8, D::i8, D::i32}));
  const auto conv = compiler::operator_for_kernels("conv n=1 c=3 h=5 w=5 o=2 r=3 s=3 type=i8");
  ASSERT_TRUE(conv.ok());
  EXPECT_EQ(types_of(*conv), (std::vector<D>{D::i8, D::i8, D::i32}));
  EXPECT_EQ(conv->inputs.size(), 1U);
  const ir::Constant& w = conv->constants[static_cast<size_t>(conv->tensors[1].constant)];
  ASSERT_EQ(w.bytes.size(), 54U);
  double most = 0;
  for (const double v : ir::doubles_of(D::i8, w.bytes)) most = std::max(most, std::abs(v));
  EXPECT_EQ(most, 127);
  for (const auto* g : {&*matmul, &*conv}) EXPECT_EQ(ir::computed_in(*g, g->nodes[0]), D::i32);
}

TEST(WholeOperators, WhatIsNoSumStaysI8) {
  const auto pool =
      compiler::operator_for_kernels("max_pool n=1 c=2 h=7 w=7 r=3 s=3 stride=2 pad=1 type=i8");
  ASSERT_TRUE(pool.ok()) << render(pool.diags());
  EXPECT_EQ(pool->tensors[static_cast<size_t>(pool->outputs[0])].dtype, D::i8);
  EXPECT_EQ(pool->nodes[0].reads[0].fill, -128);
}

TEST(WholeOperators, WhatIsNotComputedInWholeNumbersIsRefused) {
  for (const char* op : {"softmax rows=3 columns=5 type=i8", "exp n=9 type=i8"}) {
    const auto g = compiler::operator_for_kernels(op);
    ASSERT_FALSE(g.ok()) << op;
    EXPECT_THAT(render(g.diags()), HasSubstr("has no form of type i8: node "));
  }
}

// A library is priced by operands and results of one byte, with weights among the operands.
TEST(WholeOperators, PricedOperatorsAreAsBefore) {
  const auto conv = compiler::parse_operator("conv n=1 c=3 h=5 w=5 o=2 r=3 s=3 type=i8");
  ASSERT_TRUE(conv.ok());
  EXPECT_EQ(types_of(*conv), (std::vector<D>{D::i8, D::i8, D::i8}));
  EXPECT_EQ(conv->inputs.size(), 2U);
}

}  // namespace
}  // namespace assay
