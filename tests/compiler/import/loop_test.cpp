// Loop and Scan, unrolled, against loops written here.
#include <algorithm>
#include <cmath>

#include "tests/compiler/import/body_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

// state = state * w + outside; the states of all trips are an output
onnx::GraphProto power_body() {
  Body body({"i", "go_in", "state"});
  body.weights("w", {1}, {0.5F}).output("go_out").output("next").output("seen");
  body.add("Identity", {"go_in"}, {"go_out"});
  body.add("Mul", {"state", "w"}, {"scaled"});
  body.add("Add", {"scaled", "outside"}, {"next"});
  body.add("Identity", {"next"}, {"seen"});
  return body.graph;
}

TEST(ImportLoop, CarriesValuesAndGathersOthers) {
  for (const int64_t count : {1, 2, 7, 40}) {
    ModelBuilder m;
    m.input("outside", {3}, {1, -2, 3}).input("start", {3}, {4, 5, 6}).output("last").output("all");
    add_count(m, count);
    add_flag(m, "go", true);
    m.node("Loop", {"count", "go", "start"}, {"last", "all"}).set("body", power_body());
    Values state = {4, 5, 6}, all;
    const Values outside = {1, -2, 3};
    for (int64_t i = 0; i < count; ++i)
      for (size_t j = 0; j < 3; ++j) {
        state[j] = state[j] * 0.5 + outside[j];
        all.push_back(state[j]);
      }
    std::vector<Shape> shapes;
    const std::vector<Values> found = m.run_all(&shapes);
    ASSERT_EQ(found.size(), 2u);
    expect_near(found[0], state);
    expect_near(found[1], all);
    EXPECT_EQ(shapes[1], (Shape{count, 3}));
  }
}

// The trip's number gives an index and a factor; the condition is computed of it.
TEST(ImportLoop, ANumberOfTripsByItsCondition) {
  for (const int64_t limit : {1, 3, 5}) {
    Body body({"i", "go_in", "sum"});
    body.integer("one", 1).integer("limit", limit).output("go_out").output("next").output("at");
    body.add("Add", {"i", "one"}, {"after"});
    body.add("Less", {"after", "limit"}, {"go_out"});
    body.add("Gather", {"x", "i"}, {"element"}).set("axis", 0);
    body.add("Cast", {"i"}, {"factor"}).set("to", static_cast<int>(TensorProto::FLOAT));
    body.add("Mul", {"element", "factor"}, {"term"});
    body.add("Add", {"sum", "term"}, {"next"});
    body.add("Identity", {"i"}, {"at"});
    ModelBuilder m;
    m.input("x", {6, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).input("zero", {2}, {0, 0});
    m.output("sum").output("at");
    m.node("Loop", {"", "", "zero"}, {"sum", "at"}).set("body", body.graph);
    Values sum = {0, 0}, at;
    for (int64_t i = 0; i < limit; ++i) {
      sum[0] += static_cast<double>(i * (2 * i + 1));
      sum[1] += static_cast<double>(i * (2 * i + 2));
      at.push_back(static_cast<double>(i));
    }
    const std::vector<Values> found = m.run_all();
    ASSERT_EQ(found.size(), 2u);
    expect_near(found[0], sum);
    expect_near(found[1], at);
  }
}

TEST(ImportLoop, WithoutTripsGivesWhatItBeganWith) {
  for (const bool go : {false, true}) {
    ModelBuilder m;
    m.input("outside", {3}, {1, -2, 3}).input("start", {3}, {4, 5, 6}).output("y");
    add_count(m, go ? 0 : 3);
    add_flag(m, "go", go);
    m.node("Loop", {"count", "go", "start"}, {"last", "all"}).set("body", power_body());
    m.node("Neg", {"last"}, {"y"});
    expect_near(m.run(), {-4, -5, -6});
  }
}

// Scalars, whose gathered values are a vector; two loops with the same names in one another.
TEST(ImportLoop, InALoop) {
  Body inner({"i", "go_in", "v"});
  inner.output("go_in").output("w").output("w");
  inner.add("Add", {"v", "step"}, {"w"});
  Body outer({"i", "go_in", "v"});
  outer.output("go_in").output("last").output("all");
  outer.add("Mul", {"v", "two"}, {"step"});
  outer.add("Loop", {"inner_count", "", "v"}, {"last", "all"}).set("body", inner.graph);
  ModelBuilder m;
  m.input("x", {}, {1}).output("last").output("all");
  add_count(m, 2);
  m.constant<int64_t>("inner_count", {}, TensorProto::INT64, {3});
  m.constant<float>("two", {}, TensorProto::FLOAT, {2});
  m.node("Loop", {"count", "", "x"}, {"last", "all"}).set("body", outer.graph);
  std::vector<Shape> shapes;
  const std::vector<Values> found = m.run_all(&shapes);
  ASSERT_EQ(found.size(), 2u);
  expect_near(found[0], {49});  // each trip adds three times twice the value
  expect_near(found[1], {3, 5, 7, 21, 35, 49});
  EXPECT_EQ(shapes[0], Shape{});
  EXPECT_EQ(shapes[1], (Shape{2, 3}));
}

// What does not depend on the trip is computed once.
TEST(ImportLoop, WhatStaysTheSameStandsOnce) {
  Body body({"i", "go_in", "v"});
  body.output("go_in").output("next");
  body.add("Exp", {"x"}, {"same"});
  body.add("Add", {"v", "same"}, {"next"});
  ModelBuilder m;
  m.input("x", {2}, {0, 1}).output("y");
  add_count(m, 5);
  m.node("Loop", {"count", "", "x"}, {"y"}).set("body", body.graph);
  expect_near(m.run(), {5, 1 + 5 * std::exp(1)});
  const Result<ir::Graph> g = m.import();
  EXPECT_EQ(std::count_if(g->nodes.begin(), g->nodes.end(),
                          [](const ir::Node& n) { return n.op == "exp"; }),
            1);
  EXPECT_EQ(g->nodes.size(), 6u);
}

TEST(ImportLoop, WhatIsKnownOnlyAtRunTimeIsRefused) {
  ModelBuilder m;
  m.input("outside", {3}).input("start", {3}).input("n", {}, {}, TensorProto::INT64);
  m.input("c", {}, {}, TensorProto::BOOL);
  m.output("a").output("b");
  add_count(m, 3);
  add_flag(m, "go", true);
  m.node("Loop", {"n", "go", "start"}, {"a", "all"}).set("body", power_body());
  m.node("Loop", {"count", "c", "start"}, {"b", "all2"}).set("body", power_body());
  expect_said(m,
              "node make_a (Loop, output a): its trip count n is known only when the model runs, "
              "expected a constant\nhint: the nodes of each trip stand in the plan");
  expect_said(m, "node make_b (Loop, output b): its condition c for trip 0 is known only");
  Body body({"i", "go_in", "v"});
  body.output("go_out").output("next");
  body.add("Neg", {"v"}, {"next"});
  body.add("Less", {"limit", "v"}, {"go_out"});
  ModelBuilder computed;
  computed.input("x", {1}).weights("limit", {1}, {0}).output("y");
  computed.node("Loop", {"", "", "x"}, {"y"}).set("body", body.graph);
  expect_said(computed, "its condition go_out for trip 1 is known only when the model runs");
}

TEST(ImportLoop, TooManyTripsAreRefused) {
  ModelBuilder m;
  m.input("outside", {3}).input("start", {3}).output("a");
  add_count(m, 1'000'000'000);
  m.node("Loop", {"count", "", "start"}, {"a", "all"}).set("body", power_body());
  expect_said(m,
              "node make_a (Loop, output a): its first 5001 trips take 10002 nodes; at most "
              "10000 nodes of a model are unrolled\nhint: shorter sequences");
  Body body({"i", "go_in"});  // folds to nothing, and never ends
  body.output("go_in");
  body.add("Neg", {"i"}, {"unread"});
  ModelBuilder endless;
  endless.input("x", {1}).output("y");
  endless.node("Loop", {"", ""}, {}).set("body", body.graph);
  endless.node("Neg", {"x"}, {"y"});
  expect_said(endless,
              "it has more than 10000 trips\nhint: the nodes of each trip stand in the plan");
}

TEST(ImportLoop, FaultsOfTheBodyAreSaidOnce) {
  Body body({"i", "go_in", "v"});
  body.output("go_in").output("next");
  body.add("Frob", {"v"}, {"next"});
  ModelBuilder m;
  m.input("x", {1}).output("y").output("z");
  add_count(m, 5);
  m.node("Loop", {"count", "", "x"}, {"y"}).set("body", body.graph);
  m.node("Loop", {"count", "", "x", "x"}, {"z"}).set("body", body.graph);
  expect_said(m, "node y/0/make_next (Frob, output y/0/next): the operator Frob is not supported");
  expect_said(m,
              "(Loop, output z): its body has 3 inputs and 2 outputs, expected 4 and at least 3");
  EXPECT_EQ(m.import().diags().size(), 2u) << m.faults();
}

TEST(ImportLoop, GatheredValuesHaveOneShape) {
  Body body({"i", "go_in", "v"});
  body.output("go_in").output("next").output("next");
  body.add("Concat", {"v", "v"}, {"next"}).set("axis", 0);
  ModelBuilder m;
  m.input("x", {1}, {3}).output("y");
  add_count(m, 3);
  m.node("Loop", {"count", "", "x"}, {"y", "all"}).set("body", body.graph);
  expect_said(m,
              "the values of its trips have the shapes [2] and [4] of f32 and f32, expected one");
  m.model.mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_output()
      ->RemoveLast();
  m.model.mutable_graph()->mutable_node(0)->mutable_output()->RemoveLast();
  expect_near(m.run(), Values(8, 3));  // a carried value may grow
}

// sum = sum + x w; the outputs are the sum, and x minus it
onnx::GraphProto scan_body() {
  Body body({"sum", "x", "z"});
  body.weights("w", {2}, {2, 3}).output("next").output("rest").output("twice");
  body.add("Mul", {"x", "w"}, {"term"});
  body.add("Add", {"sum", "term"}, {"next"});
  body.add("Sub", {"z", "next"}, {"rest"});
  body.add("Add", {"rest", "rest"}, {"twice"});
  return body.graph;
}

struct Scanned {
  Values sum;
  std::vector<Values> rest;  // by trip
};

// `xs` and `zs`: of each trip two elements.
Scanned scan_here(Values sum, const std::vector<Values>& xs, const std::vector<Values>& zs) {
  Scanned out{std::move(sum), {}};
  for (size_t t = 0; t < xs.size(); ++t) {
    out.rest.emplace_back();
    for (size_t j = 0; j < 2; ++j) {
      out.sum[j] += xs[t][j] * (j == 0 ? 2 : 3);
      out.rest[t].push_back(zs[t][j] - out.sum[j]);
    }
  }
  return out;
}

// Row t of a matrix of two columns, or column t of one of two rows.
std::vector<Values> rows_of(const Floats& from, bool columns, bool reverse) {
  const size_t trips = from.size() / 2;
  std::vector<Values> out;
  for (size_t t = 0; t < trips; ++t)
    for (size_t j = 0; j < 2; ++j) {
      if (j == 0) out.emplace_back();
      out.back().push_back(static_cast<double>(from[columns ? j * trips + t : t * 2 + j]));
    }
  if (reverse) std::reverse(out.begin(), out.end());
  return out;
}

TEST(ImportScan, AxesAndDirections) {
  for (const int64_t trips : {1, 3, 23})
    for (int way = 0; way < 8; ++way) {
      Random random(static_cast<unsigned>(way + 1));
      const Floats x = random.floats({trips, 2}), z = random.floats({2, trips});
      const bool x_reversed = way & 1, rest_reversed = way & 2, by_default = way & 4;
      ModelBuilder m;
      m.input("start", {2}, {1, -1}).input("x", {trips, 2}, x);
      m.input("z", by_default ? Shape{trips, 2} : Shape{2, trips}, z);
      m.output("sum").output("rest").output("twice");
      NodeBuilder node = m.node("Scan", {"start", "x", "z"}, {"sum", "rest", "twice"});
      node.set("body", scan_body()).set("num_scan_inputs", 2);
      if (!by_default) {
        node.set("scan_input_axes", Shape{0, -1}).set("scan_output_axes", Shape{1, 0});
        node.set("scan_input_directions", Shape{x_reversed, 0});
        node.set("scan_output_directions", Shape{rest_reversed, 0});
      }
      Scanned want = scan_here({1, -1}, rows_of(x, false, x_reversed && !by_default),
                               rows_of(z, !by_default, false));
      Values twice;
      for (const Values& row : want.rest)
        for (const double v : row) twice.push_back(2 * v);
      if (rest_reversed && !by_default) std::reverse(want.rest.begin(), want.rest.end());
      Values rest;
      for (size_t j = 0; j < 2; ++j)
        for (const Values& row : want.rest) rest.push_back(row[j]);
      if (by_default) {
        rest.clear();
        for (const Values& row : want.rest) rest.insert(rest.end(), row.begin(), row.end());
      }
      const std::vector<Values> found = m.run_all();
      ASSERT_EQ(found.size(), 3u);
      expect_near(found[0], want.sum);
      expect_near(found[1], rest);
      expect_near(found[2], twice);
    }
}

// Until opset 8: lengths come first, and each batch is scanned on its own.
TEST(ImportScan, OfOpset8HasBatches) {
  Random random(5);
  const Floats x = random.floats({3, 4, 2}), z = random.floats({3, 4, 2});
  ModelBuilder m(8);
  m.input("start", {3, 2}, {1, 2, 3, 4, 5, 6}).input("x", {3, 4, 2}, x).input("z", {3, 4, 2}, z);
  m.output("sum").output("rest").output("twice").integers("lengths", {4, 4, 4});
  m.node("Scan", {"lengths", "start", "x", "z"}, {"sum", "rest", "twice"})
      .set("body", scan_body())
      .set("num_scan_inputs", 2)
      .set("directions", Shape{1, 0});
  Values sum, rest;
  for (int64_t b = 0; b < 3; ++b) {
    const Floats xb(x.begin() + b * 8, x.begin() + b * 8 + 8),
        zb(z.begin() + b * 8, z.begin() + b * 8 + 8);
    const Scanned one = scan_here({static_cast<double>(2 * b + 1), static_cast<double>(2 * b + 2)},
                                  rows_of(xb, false, true), rows_of(zb, false, false));
    sum.insert(sum.end(), one.sum.begin(), one.sum.end());
    for (const Values& row : one.rest) rest.insert(rest.end(), row.begin(), row.end());
  }
  std::vector<Shape> shapes;
  const std::vector<Values> found = m.run_all(&shapes);
  ASSERT_EQ(found.size(), 3u);
  expect_near(found[0], sum);
  expect_near(found[1], rest);
  EXPECT_EQ(shapes[1], (Shape{3, 4, 2}));
  m.model.mutable_graph()->mutable_initializer(0)->set_int64_data(1, 3);
  expect_said(m, "sequence_lens lengths must be a constant of 3 times 4");
}

TEST(ImportScan, WhatDoesNotFitIsRefused) {
  const auto scan = [](int count, const Shape& z, const Shape& axes) {
    ModelBuilder m;
    m.input("start", {2}).input("x", {3, 2}).input("z", z).output("sum");
    NodeBuilder node = m.node("Scan", {"start", "x", "z"}, {"sum", "rest", "twice"});
    node.set("body", scan_body()).set("num_scan_inputs", count);
    if (!axes.empty()) node.set("scan_input_axes", axes);
    return m;
  };
  expect_said(scan(4, {3, 2}, {}), "num_scan_inputs is 4, it has 3 inputs");
  expect_said(scan(2, {4, 2}, {}), "its inputs have the extents [3, 4] along their axes");
  expect_said(scan(2, {3, 2}, {0}),
              "1 of scan_input_axes and 2 of scan_input_directions, expected 2");
  expect_said(scan(2, {3, 2}, {0, 2}), "axis 2 is outside the 2 dimensions");
}

// Damaged loops and recurrent operators are refused, or are graphs.
TEST(ImportHostile, FlippedBitsOfLoops) {
  Random random(3);
  ModelBuilder m;
  m.input("outside", {2}).input("start", {2}).input("x", {3, 1, 2}).output("y");
  add_count(m, 3);
  m.node("Loop", {"count", "", "start"}, {"last", "all"}).set("body", power_body());
  m.node("Scan", {"last", "all", "all"}, {"sum", "rest", "twice"})
      .set("body", scan_body())
      .set("num_scan_inputs", 2);
  m.weights("w", {1, 4, 2}, random.floats({8})).weights("r", {1, 4, 1}, random.floats({4}));
  m.integers("lengths", {2});
  m.node("LSTM", {"x", "w", "r", "", "lengths"}, {"h"}).set("hidden_size", 1).set("clip", 1.0F);
  m.node("Concat", {"sum", "flat"}, {"y"}).set("axis", 0);
  m.node("Flatten", {"h"}, {"rows"}).set("axis", 0);
  m.integers("shape", {3});
  m.node("Reshape", {"rows", "shape"}, {"flat"});
  ASSERT_EQ(m.faults(), "");
  const int accepted = accepted_with_flipped_bits(m.bytes(), 2000, 3);
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 1800);
}

}  // namespace
}  // namespace assay::import
