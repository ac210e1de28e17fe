#include <gtest/gtest.h>

#include "tests/ir/graph_samples.h"

namespace assay::ir {
namespace {

std::string faults(const Graph& g) { return render(verify(g)); }

TEST(Graph, BuildersVerify) {
  EXPECT_EQ(faults(samples::matmul(2, 3, 4)), "");
  EXPECT_EQ(faults(samples::conv({3, 5, 11, 7, 2, 3})), "");
}

TEST(Graph, Queries) {
  const Graph g = samples::conv({3, 5, 11, 3, 1, 1});
  EXPECT_EQ(producer_of(g, 2), 0);
  EXPECT_EQ(producer_of(g, 0), -1);
  EXPECT_EQ(consumers_of(g, 1), std::vector<int>{0});
  EXPECT_EQ(spatial_count(g, g.nodes[0]), 4);
  EXPECT_FALSE(is_reduce(g, g.nodes[0], 3));
  EXPECT_TRUE(is_reduce(g, g.nodes[0], 4));
  EXPECT_EQ(points_of(g.nodes[0]), 5 * 11 * 11 * 3 * 9);
  EXPECT_EQ(flops_of(g, g.nodes[0]), 2 * points_of(g.nodes[0]));
}

TEST(Graph, InputRegionsAreClippedToTheTensor) {
  const Graph g = samples::conv({3, 5, 11, 3, 1, 1});
  const std::vector<Range> tile = {{0, 0}, {2, 3}, {0, 4}, {6, 10}, {0, 2}, {0, 2}, {0, 2}};
  const auto regions = input_regions(g, g.nodes[0], tile);
  EXPECT_EQ(regions[0], (std::vector<Range>{{0, 0}, {0, 2}, {0, 5}, {5, 10}}));
  EXPECT_EQ(regions[1], (std::vector<Range>{{2, 3}, {0, 2}, {0, 2}, {0, 2}}));
}

TEST(Graph, UnguardedReadsOutsideAreErrors) {
  Graph g = samples::conv({3, 5, 11, 3, 1, 1});
  g.nodes[0].reads[0].guarded = false;
  EXPECT_EQ(faults(g),
            "error: node conv1: dimension 2 of x is read at -1 to 11, it has 0 to 10\n"
            "hint: reads that may leave the tensor must be guarded\n"
            "error: node conv1: dimension 3 of x is read at -1 to 11, it has 0 to 10\n"
            "hint: reads that may leave the tensor must be guarded\n");
}

TEST(Graph, EveryFaultIsNamed) {
  Graph g = samples::matmul(2, 3, 4);
  g.nodes[0].axes[0].extent = 5;
  EXPECT_NE(faults(g).find("axis m has extent 5, dimension 0 of c has 2"), std::string::npos);
  g = samples::matmul(2, 3, 4);
  g.nodes[0].combine = Combiner::none;
  EXPECT_NE(faults(g).find("has reduce axes but no combiner"), std::string::npos);
  g = samples::matmul(2, 3, 4);
  g.nodes.push_back(g.nodes[0]);
  g.nodes[1].name = "again";
  EXPECT_NE(faults(g).find("node again: writes c, which has a value already"), std::string::npos);
  g = samples::matmul(2, 3, 4);
  g.nodes[0].reads[1].index.pop_back();
  EXPECT_NE(faults(g).find("reads b with 1 indices, it has 2 dimensions"), std::string::npos);
  g = samples::matmul(2, 3, 4);
  g.nodes[0].body.args[1].operand = 2;
  EXPECT_NE(faults(g).find("the body uses operand 2, the node has 2"), std::string::npos);
  g = samples::matmul(1, (int64_t{1} << 24) + 1, 1);
  g.nodes[0].body = apply(ScalarOp::mul, {g.nodes[0].body, {}});
  g.nodes[0].body.args[1].op = ScalarOp::axis;
  g.nodes[0].body.args[1].operand = 1;
  EXPECT_NE(
      faults(g).find("the body takes the place along axis n as a number, which f32 represents "
                     "exactly up to 16777216 only"),
      std::string::npos)
      << faults(g);
  g = samples::matmul(2, 3, 4);
  g.inputs = {0};
  EXPECT_NE(faults(g).find("reads b before it is written"), std::string::npos);
}

TEST(Graph, HugeNumbersAreErrorsNotOverflows) {
  Graph g = samples::matmul(2, 3, 4);
  g.tensors[0].shape = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_NE(faults(g).find("out of bounds"), std::string::npos);
  g = samples::matmul(2, 3, 4);
  g.nodes[0].reads[0].index[0] = variable(0, INT64_MAX) + variable(1, INT64_MAX);
  EXPECT_NE(faults(g).find("overflows"), std::string::npos);
  g = samples::matmul(2, 3, 4);
  g.nodes[0].reads[0].index[0].terms[0].var = 77;
  EXPECT_NE(faults(g).find("uses axis 77"), std::string::npos);
  g.nodes[0].reads[0].index[0].terms[0] = Term{1, -1, {}, 1, 0};
  EXPECT_NE(faults(g).find("without a base"), std::string::npos);
}

}  // namespace
}  // namespace assay::ir
