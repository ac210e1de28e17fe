// Models that round values to whole numbers inside are judged step by step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/toolkit/scratch_directory.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/verify_programs.h"

namespace assay::toolkit {
namespace {

using D = ir::DType;
using testing::HasSubstr;

template <class T>
T value_of(Result<T> r) {
  if (!r) throw std::runtime_error(render(r.diags()));
  return std::move(*r);
}

// h = round(40 a b) as i8, then out = h w. a: 5 x 23, b: 23 x 24, w: 24 x 7 of i8, out: i32.
ir::Graph quantised_chain() {
  const auto at = [](int i) { return ir::variable(i); };
  const auto product = [](ir::Scalar x, ir::Scalar y) {
    return ir::apply(ir::ScalarOp::mul, {std::move(x), std::move(y)});
  };
  ir::Graph g;
  g.name = "chain";
  g.tensors = {{"a", D::f32, {5, 23}, -1},  {"b", D::f32, {23, 24}, -1},
               {"ab", D::f32, {5, 24}, -1}, {"h", D::i8, {5, 24}, -1},
               {"w", D::i8, {24, 7}, -1},   {"out", D::i32, {5, 7}, -1}};
  ir::Node first{"first", "matmul", {{"m", 5}, {"n", 24}, {"k", 23}}, 2, {}, {}, ir::Combiner::sum};
  first.reads = {{0, {at(0), at(2)}, false, 0}, {1, {at(2), at(1)}, false, 0}};
  first.body = product(ir::read(0), ir::read(1));
  ir::Node step{"step", "quantise", {{"m", 5}, {"n", 24}}, 3, {}, {}, ir::Combiner::none};
  step.reads = {{2, {at(0), at(1)}, false, 0}};
  step.body = ir::apply(ir::ScalarOp::round, {product(ir::read(0), ir::number(40))});
  ir::Node last{"last", "matmul", {{"m", 5}, {"n", 7}, {"k", 24}}, 5, {}, {}, ir::Combiner::sum};
  last.reads = {{3, {at(0), at(2)}, false, 0}, {4, {at(2), at(1)}, false, 0}};
  last.body = product(ir::read(0), ir::read(1));
  g.nodes = {first, step, last};
  g.inputs = {0, 1, 4};
  g.outputs = {5};
  return g;
}

class CheckSteps : public testing::Test {
 protected:
  CheckSteps() {
    CompileOptions compile;
    compile.build = false;
    compile.fuse = compiler::Fuse::elementwise;  // two steps
    compile.cache_dir = options_.cache_dir = scratch_.at("cache");
    options_.repeat = 1;
    options_.patience = 0;
    bundle_ = value_of(compile_bundle(quantised_chain(),
                                      value_of(load_profile("generic/x86-avx512-2core")), compile));
    inputs_ = generate_inputs(bundle_.graph, 3);
    outputs_ = value_of(run_bundle(bundle_, inputs_, options_)).outputs;
  }
  Verdict verdict() { return value_of(check_steps(bundle_, inputs_, outputs_, options_)); }

  test::ScratchDirectory scratch_;
  RunOptions options_;
  Bundle bundle_;
  Values inputs_, outputs_;
};

TEST_F(CheckSteps, JudgesEachStepOfARightPlan) {
  ASSERT_TRUE(has_steps_inside(bundle_.graph));
  ASSERT_EQ(bundle_.plan.steps.size(), 2u);
  const Verdict v = verdict();
  EXPECT_TRUE(v.verified);
  EXPECT_TRUE(v.bounded);
  EXPECT_EQ(v.values, 5 * 24 + 5 * 7);
  EXPECT_EQ(v.where, "");
}

// The kernels write h in rows, and the plan says columns: both steps then differ from their
// references, and the first is named.
TEST_F(CheckSteps, NamesTheFirstStepThatIsWrong) {
  const auto h = std::find_if(bundle_.plan.tensors.begin(), bundle_.plan.tensors.end(),
                              [](const ir::PlanTensor& t) { return t.name == "h"; });
  ASSERT_NE(h, bundle_.plan.tensors.end());
  ASSERT_EQ(h->layout, ir::row_major(2));
  std::swap(h->layout.dims[0], h->layout.dims[1]);
  const Verdict v = verdict();
  EXPECT_FALSE(v.verified);
  EXPECT_GT(v.wrong, 0);
  EXPECT_THAT(v.where, HasSubstr("first"));
}

TEST_F(CheckSteps, FindsOutputsOfAnotherModel) {
  std::reverse(outputs_[0].begin(), outputs_[0].end());
  const Verdict v = verdict();
  EXPECT_FALSE(v.verified);
  EXPECT_GT(v.max_relative_error, kRoundingModelLimit);
}

}  // namespace
}  // namespace assay::toolkit
