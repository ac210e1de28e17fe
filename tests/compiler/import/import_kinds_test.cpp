// CumSum, ScatterElements, ScatterND, TopK: the examples of ONNX's operator pages, then refusals.
#include <cmath>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using Doubles = std::vector<double>;

constexpr int kInt64 = onnx::TensorProto::INT64;

ir::Graph imported(const ModelBuilder& m) {
  Result<ir::Graph> g = m.import();
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  return *g;
}

std::string refusal(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

Doubles cum_sum(const Shape& shape, const Floats& x, int64_t axis, int exclusive, int reverse) {
  ModelBuilder m(14);
  m.input("x", shape, x).integers("axis", {axis}).output("y");
  m.node("CumSum", {"x", "axis"}, {"y"}).set("exclusive", exclusive).set("reverse", reverse);
  return m.run();
}

TEST(ImportCumSum, Documented) {
  const Floats row{1, 2, 3}, square{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(cum_sum({3}, row, 0, 0, 0), (Doubles{1, 3, 6}));
  EXPECT_EQ(cum_sum({3}, row, 0, 1, 0), (Doubles{0, 1, 3}));
  EXPECT_EQ(cum_sum({3}, row, 0, 0, 1), (Doubles{6, 5, 3}));
  EXPECT_EQ(cum_sum({3}, row, 0, 1, 1), (Doubles{5, 3, 0}));
  EXPECT_EQ(cum_sum({2, 3}, square, 0, 0, 0), (Doubles{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(cum_sum({2, 3}, square, -1, 0, 0), (Doubles{1, 3, 6, 4, 9, 15}));
}

TEST(ImportCumSum, IsOneNodeOfAsManyTerms) {
  ModelBuilder m(14);
  m.input("x", {512, 512}).integers("axis", {1}).output("y");
  m.node("CumSum", {"x", "axis"}, {"y"});
  const ir::Graph g = imported(m);
  ASSERT_EQ(g.nodes.size(), 1U);
  EXPECT_EQ(ir::points_of(g.nodes[0]), 512 * 512);
}

TEST(ImportCumSum, OfConstantsIsExact) {
  ModelBuilder m(14);
  m.integers("x", {(int64_t{1} << 60) + 1, -3, 7}).integers("axis", {0}).output("y");
  m.node("CumSum", {"x", "axis"}, {"s"});
  m.integers("minus", {(int64_t{1} << 60)});
  m.node("Sub", {"s", "minus"}, {"y"});
  EXPECT_EQ(m.run(), (Doubles{1, -2, 5}));
}

ModelBuilder scatter(const char* op, const Shape& at, const Floats& indices, const Floats& updates,
                     const Shape& to, const Floats& data, const char* reduction = "none") {
  ModelBuilder m(18);
  m.input("data", to, data).input("indices", at, indices, kInt64);
  m.input("updates", at, updates).output("y");
  m.node(op, {"data", "indices", "updates"}, {"y"}).set("reduction", reduction);
  return m;
}

TEST(ImportScatterElements, Documented) {
  ModelBuilder m(18);
  m.input("data", {3, 3}, Floats(9, 0)).input("indices", {2, 3}, {1, 0, 2, 0, 2, 1}, kInt64);
  m.input("updates", {2, 3}, {1.0F, 1.1F, 1.2F, 2.0F, 2.1F, 2.2F}).output("y");
  m.node("ScatterElements", {"data", "indices", "updates"}, {"y"});
  expect_near(m.run(), {2.0, 1.1, 0, 1, 0, 2.2, 0, 2.1, 1.2});
}

TEST(ImportScatterElements, AlongAnAxisFromTheEndAndWithDuplicates) {
  const Floats data{1, 2, 3, 4, 5};
  const auto run = [&](const Floats& indices, const char* reduction) {
    ModelBuilder m(18);
    m.input("data", {1, 5}, data).input("indices", {1, 2}, indices, kInt64);
    m.input("updates", {1, 2}, {1.1F, 2.1F}).output("y");
    m.node("ScatterElements", {"data", "indices", "updates"}, {"y"})
        .set("axis", 1)
        .set("reduction", reduction);
    return m.run();
  };
  expect_near(run({1, 3}, "none"), {1, 1.1, 3, 2.1, 5});
  expect_near(run({1, -3}, "none"), {1, 1.1, 2.1, 4, 5});
  expect_near(run({1, 1}, "add"), {1, 5.2, 3, 4, 5});
  expect_near(run({1, 1}, "mul"), {1, 2 * 1.1 * 2.1, 3, 4, 5});
  expect_near(run({1, 1}, "max"), {1, 2.1, 3, 4, 5});
  expect_near(run({1, 1}, "min"), {1, 1.1, 3, 4, 5});
}

// Columns of the data beyond those of the indices keep their values.
TEST(ImportScatterElements, FewerIndicesThanData) {
  expect_near(scatter("ScatterElements", {1, 2}, {2, -1}, {10, 20}, {3, 3},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8}, "add")
                  .run(),
              {0, 1, 2, 3, 4, 5, 16, 27, 8});
}

TEST(ImportScatter, OldNameAndConstants) {
  ModelBuilder m(10);
  m.weights("data", {3}, {1, 2, 3}).integers("indices", {2, 0}).weights("updates", {2}, {7, 8});
  m.output("y");
  m.node("Scatter", {"data", "indices", "updates"}, {"y"});
  EXPECT_EQ(m.run(), (Doubles{8, 2, 7}));
}

TEST(ImportScatterND, Documented) {
  ModelBuilder m(18);
  m.input("data", {8}, {1, 2, 3, 4, 5, 6, 7, 8}).input("indices", {4, 1}, {4, 3, 1, 7}, kInt64);
  m.input("updates", {4}, {9, 10, 11, 12}).output("y");
  m.node("ScatterND", {"data", "indices", "updates"}, {"y"});
  EXPECT_EQ(m.run(), (Doubles{1, 11, 3, 10, 9, 6, 7, 12}));
}

// The page's second example, of rows of a matrix, with a row twice for the reductions.
TEST(ImportScatterND, RowsWithReductions) {
  const auto run = [](const char* reduction) {
    ModelBuilder m(18);
    m.input("data", {3, 2}, {1, 2, 3, 4, 5, 6}).input("indices", {3, 1}, {0, -1, 0}, kInt64);
    m.input("updates", {3, 2}, {5, 5, 2, 9, -1, 7}).output("y");
    m.node("ScatterND", {"data", "indices", "updates"}, {"y"}).set("reduction", reduction);
    return m.run();
  };
  EXPECT_EQ(run("none"), (Doubles{-1, 7, 3, 4, 2, 9}));
  EXPECT_EQ(run("add"), (Doubles{5, 14, 3, 4, 7, 15}));
  EXPECT_EQ(run("mul"), (Doubles{-5, 70, 3, 4, 10, 54}));
  EXPECT_EQ(run("max"), (Doubles{5, 7, 3, 4, 5, 9}));
  EXPECT_EQ(run("min"), (Doubles{-1, 2, 3, 4, 2, 6}));
}

TEST(ImportScatterND, PointsAndASinglePosition) {
  ModelBuilder m(18);
  m.input("data", {2, 2}, {1, 2, 3, 4}).input("indices", {2}, {1, 0}, kInt64);
  m.input("updates", {}, {9}).output("y");
  m.node("ScatterND", {"data", "indices", "updates"}, {"y"});
  EXPECT_EQ(m.run(), (Doubles{1, 2, 9, 4}));
}

TEST(ImportScatter, WithoutTermsChangesNothing) {
  ModelBuilder m(18);
  m.input("data", {3}, {1, 2, 3}).integers("indices", {}).weights("updates", {0}, {}).output("y");
  m.node("ScatterElements", {"data", "indices", "updates"}, {"s"});
  m.node("Neg", {"s"}, {"y"});
  EXPECT_EQ(m.run(), (Doubles{-1, -2, -3}));
}

TEST(ImportScatter, Refusals) {
  EXPECT_NE(refusal(scatter("ScatterElements", {4}, {}, {}, {3}, {}, "mean"))
                .find("reduction mean is not known"),
            std::string::npos);
  EXPECT_NE(refusal(scatter("ScatterElements", {2, 2}, {}, {}, {3, 1}, {}))
                .find("2 indices in dimension 1, the data has 1"),
            std::string::npos);
  EXPECT_NE(refusal(scatter("ScatterND", {2, 3}, {}, {}, {3, 1}, {}))
                .find("3 indices per position, the data has 2 dimensions"),
            std::string::npos);
  ModelBuilder m(18);
  m.input("data", {3}).integers("indices", {0, 3}).input("updates", {2}).output("y");
  m.node("ScatterElements", {"data", "indices", "updates"}, {"y"});
  EXPECT_NE(refusal(m).find("index 3 is outside of 3 elements"), std::string::npos);
}

TEST(ImportTopK, Documented) {
  ModelBuilder m(11);
  m.input("x", {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).integers("k", {3});
  m.output("values").output("indices");
  m.node("TopK", {"x", "k"}, {"values", "indices"}).set("axis", 1);
  const ir::Graph g = imported(m);
  const auto all = ir::evaluate(g, m.inputs);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)[static_cast<size_t>(g.outputs[0])], (Doubles{3, 2, 1, 7, 6, 5, 11, 10, 9}));
  EXPECT_EQ((*all)[static_cast<size_t>(g.outputs[1])], (Doubles{3, 2, 1, 3, 2, 1, 3, 2, 1}));
}

TEST(ImportTopK, SmallestOfConstantsAndEqualOnes) {
  const auto run = [](const char* wanted) {
    ModelBuilder m(11);
    m.weights("x", {2, 4}, {3, 1, 1, 2, 0, -1, 0, -1}).integers("k", {3});
    m.output(wanted);
    m.node("TopK", {"x", "k"}, {"values", "indices"}).set("largest", 0);
    return m.run();
  };
  EXPECT_EQ(run("values"), (Doubles{1, 1, 2, -1, -1, 0}));
  EXPECT_EQ(run("indices"), (Doubles{1, 2, 3, 1, 3, 0}));
}

TEST(ImportTopK, OfIntegersAndByAttribute) {
  ModelBuilder folded(11);
  folded.integers("x", {5, 9, 7}).integers("k", {2}).output("values");
  folded.node("TopK", {"x", "k"}, {"values", ""});
  EXPECT_EQ(folded.run(), (Doubles{9, 7}));
  ModelBuilder old(9);
  old.input("x", {3, 2}, {5, 1, 9, 2, 7, 3}).output("values");
  old.node("TopK", {"x"}, {"values", "indices"}).set("k", 2).set("axis", 0);
  EXPECT_EQ(old.run(), (Doubles{9, 3, 7, 2}));
}

TEST(ImportTopK, Refusals) {
  ModelBuilder m(11);
  m.input("x", {3}).integers("k", {4}).output("v");
  m.node("TopK", {"x", "k"}, {"v", "i"});
  EXPECT_NE(refusal(m).find("k is 4, expected 1 to 3"), std::string::npos);
  ModelBuilder run_time(11);
  run_time.input("x", {3}).input("k", {1}, {2}, kInt64).output("v");
  run_time.node("TopK", {"x", "k"}, {"v", "i"});
  EXPECT_NE(refusal(run_time).find("k must be a constant"), std::string::npos);
}

}  // namespace
}  // namespace assay::import
