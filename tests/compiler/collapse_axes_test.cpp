// Adjacent axes are collapsed where every tensor allows it, and values stay the same.
#include "compiler/passes/collapse_axes.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/compile.h"
#include "tests/compiler/plan_runner.h"

namespace assay::test {
namespace {

// Of one operator, row-major.
compiler::Problem problem_of(const std::string& text, bool packable = false) {
  const Result<ir::Graph> g = compiler::parse_operator(text);
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  compiler::Problem p{*g, {}, {}};
  for (const ir::Tensor& t : g->tensors) {
    p.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
    p.packable.push_back(packable);
  }
  return p;
}

std::vector<int64_t> shape_of_output(const compiler::Problem& p) {
  return p.graph.tensors[static_cast<size_t>(p.graph.outputs[0])].shape;
}

void expect_same_results(const compiler::Problem& before, const compiler::Problem& after) {
  ASSERT_EQ(render(ir::verify(after.graph)), "");
  std::mt19937 rng(3);
  std::vector<Floats> inputs;
  for (const int t : before.graph.inputs)
    inputs.push_back(
        random_floats(rng, ir::elements(before.graph.tensors[static_cast<size_t>(t)])));
  const auto want = ir::evaluate(before.graph, inputs), got = ir::evaluate(after.graph, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_EQ((*want)[static_cast<size_t>(before.graph.outputs[0])],
            (*got)[static_cast<size_t>(after.graph.outputs[0])]);
}

TEST(CollapseAxes, RowsAndColumnsUnderA1x1Window) {
  const compiler::Problem p = problem_of("conv n=2 c=3 h=5 w=7 o=4 r=1 s=1"),
                          collapsed = compiler::collapse_axes(p);
  EXPECT_EQ(shape_of_output(collapsed), (std::vector<int64_t>{2, 4, 35}));
  expect_same_results(p, collapsed);
}

TEST(CollapseAxes, ChannelsAndImagesUnderAPool) {
  const compiler::Problem p = problem_of("avg_pool n=2 c=3 h=6 w=8 r=2 s=2 stride=2 pad=0"),
                          collapsed = compiler::collapse_axes(p);
  EXPECT_EQ(shape_of_output(collapsed), (std::vector<int64_t>{6, 3, 4}));
  expect_same_results(p, collapsed);
}

TEST(CollapseAxes, AllAxesOfElementwiseNodes) {
  compiler::Problem p = problem_of("gelu n=30");
  for (ir::Tensor& t : p.graph.tensors) t.shape = {2, 3, 5};
  for (ir::Node& n : p.graph.nodes) {
    n.axes = {{"a", 2}, {"b", 3}, {"c", 5}};
    for (ir::Read& r : n.reads) r.index = {ir::variable(0), ir::variable(1), ir::variable(2)};
  }
  for (ir::Layout& l : p.layouts) l = ir::row_major(3);
  const compiler::Problem collapsed = compiler::collapse_axes(p);
  EXPECT_EQ(shape_of_output(collapsed), (std::vector<int64_t>{30}));
  expect_same_results(p, collapsed);
}

TEST(CollapseAxes, NotWhereATensorSplitsPadsOrPacksThem) {
  for (const char* text : {"matmul m=4 n=6 k=5", "conv c=3 h=5 w=7 o=4 r=3 s=3",
                           "conv c=3 h=6 w=8 o=4 r=1 s=1 stride=2", "bias_add rows=4 columns=6",
                           "transpose rows=4 columns=6"}) {
    const compiler::Problem p = problem_of(text), collapsed = compiler::collapse_axes(p);
    EXPECT_EQ(shape_of_output(collapsed), shape_of_output(p)) << text;
    expect_same_results(p, collapsed);
  }
  EXPECT_EQ(
      shape_of_output(compiler::collapse_axes(problem_of("conv n=2 c=3 h=5 w=7 o=4 r=1 s=1", true)))
          .size(),
      4U)
      << "constants are packed";
  compiler::Problem padded = problem_of("conv n=2 c=3 h=5 w=7 o=4 r=1 s=1");
  padded.layouts[static_cast<size_t>(padded.graph.inputs[0])].pad = {{}, {}, {}, {0, 1}};
  EXPECT_EQ(shape_of_output(compiler::collapse_axes(padded)).size(), 4U)
      << "padding separates the rows";
}

}  // namespace
}  // namespace assay::test
