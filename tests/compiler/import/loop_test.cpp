// Loop and Scan, unrolled, and If with both branches, against loops written here.
#include <algorithm>
#include <cmath>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using Values = std::vector<double>;
using Words = std::vector<std::string>;
using onnx::TensorProto;

// A graph of a body or branch. Inputs and outputs have names only, as the importer needs no more.
class Body {
 public:
  explicit Body(const Words& inputs) {
    for (const std::string& name : inputs) graph.add_input()->set_name(name);
  }
  NodeBuilder add(const char* op_type, const Words& from, const Words& to) {
    onnx::NodeProto* n = graph.add_node();
    n->set_op_type(op_type);
    n->set_name("make_" + to[0]);
    for (const std::string& name : from) n->add_input(name);
    for (const std::string& name : to) n->add_output(name);
    return NodeBuilder(n);
  }
  Body& weights(const char* name, const Shape& shape, const Floats& values) {
    TensorProto* t = graph.add_initializer();
    t->set_name(name);
    t->set_data_type(TensorProto::FLOAT);
    for (const int64_t extent : shape) t->add_dims(extent);
    t->set_raw_data(values.data(), values.size() * sizeof(float));
    return *this;
  }
  Body& integer(const char* name, int64_t value) {
    TensorProto* t = graph.add_initializer();
    t->set_name(name);
    t->set_data_type(TensorProto::INT64);
    t->add_int64_data(value);
    return *this;
  }
  Body& output(const char* name) {
    graph.add_output()->set_name(name);
    return *this;
  }
  onnx::GraphProto graph;
};

void expect_said(const ModelBuilder& m, const std::string& part) {
  EXPECT_NE(m.faults().find(part), std::string::npos) << m.faults();
}

void add_count(ModelBuilder& m, int64_t count) {
  m.constant<int64_t>("count", {}, TensorProto::INT64, {count});
}

void add_condition(ModelBuilder& m, bool value) {
  m.constant<char>("go", {}, TensorProto::BOOL, {static_cast<char>(value)});
}

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
    add_condition(m, true);
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
    add_condition(m, go);
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
  add_condition(m, true);
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

// c chooses between |x| and 1 - x.
ModelBuilder both(const Shape& condition, const Floats& value, bool other_shape = false) {
  ModelBuilder m;
  m.input("x", {3}, {-1, 2, -3}).input("c", condition, value, TensorProto::BOOL);
  m.weights("one", {1}, {1}).output("y").output("same");
  Body yes({}), no({});
  yes.output("a").output("x");
  yes.add("Abs", {"x"}, {"a"});
  no.output("a").output("x");
  no.add("Sub", {other_shape ? "wide" : "one", "x"}, {"a"});
  m.weights("wide", {2, 1}, {1, 1});
  m.node("If", {"c"}, {"y", "x_again"}).set("then_branch", yes.graph).set("else_branch", no.graph);
  m.node("Neg", {"x_again"}, {"same"});
  return m;
}

TEST(ImportIf, AConditionAtRunTimeChoosesBetweenBoth) {
  for (const Shape& shape : {Shape{}, Shape{1}}) {
    expect_near(both(shape, {1}).run(), {1, 2, 3});
    const std::vector<Values> found = both(shape, {0}).run_all();
    ASSERT_EQ(found.size(), 2u);
    expect_near(found[0], {2, -1, 4});
    expect_near(found[1], {1, -2, 3});
  }
  Diags notes;
  ASSERT_TRUE(both({}, {1}).import({}, &notes).ok());
  EXPECT_EQ(render(notes),
            "test.onnx: note: node make_y (If, condition c): both branches are computed, since the "
            "condition is known only when the model runs\n");
}

TEST(ImportIf, BothBranchesGiveOneShape) {
  expect_said(both({2}, {}), "its condition c has the shape [2], expected one element");
  expect_said(
      both({}, {}, true),
      "node make_y (If, output y): its branches give y the shapes [3] and [2, 3] of f32 and "
      "f32, expected the same of both\nhint: both are computed, and c chooses");
}

TEST(ImportIf, AFaultInEitherOfBothIsSaid) {
  ModelBuilder m = both({}, {});
  onnx::AttributeProto* a = m.model.mutable_graph()->mutable_node(0)->mutable_attribute(1);
  a->mutable_g()->mutable_node(0)->set_op_type("Frob");
  expect_said(m, "(Frob, output y.2/a): the operator Frob is not supported");
  expect_said(m,
              "node make_y (If, output y): its else_branch has errors, and both branches are "
              "computed, since its condition c is known only when the model runs\nhint: with a "
              "constant condition");
}

// What a branch takes from outside is said where it is refused.
TEST(ImportIf, AFaultOutsideIsSaidOnce) {
  ModelBuilder m;
  m.input("x", {2}).input("c", {}, {}, TensorProto::BOOL).output("y");
  Body yes({}), no({});
  yes.output("a");
  yes.add("Neg", {"missing"}, {"a"});
  no.output("a");
  no.add("Abs", {"x"}, {"a"});
  m.node("Frob", {"x"}, {"missing"});
  m.node("If", {"c"}, {"y"}).set("then_branch", yes.graph).set("else_branch", no.graph);
  expect_said(m, "node make_missing (Frob, output missing)");
  EXPECT_EQ(m.import().diags().size(), 1u) << m.faults();
}

TEST(ImportIf, InALoopIsNotedOnce) {
  Body yes({}), no({}), body({"i", "go_in", "v"});
  yes.output("a");
  yes.add("Add", {"v", "x"}, {"a"});
  no.output("a");
  no.add("Mul", {"v", "x"}, {"a"});
  body.output("go_in").output("next");
  body.add("If", {"c"}, {"next"}).set("then_branch", yes.graph).set("else_branch", no.graph);
  for (const float c : {0.0F, 1.0F}) {
    ModelBuilder m;
    m.input("x", {1}, {3}).input("c", {}, {c}, TensorProto::BOOL).output("y");
    add_count(m, 3);
    m.node("Loop", {"count", "", "x"}, {"y"}).set("body", body.graph);
    expect_near(m.run(), {c > 0 ? 12.0 : 81.0});
    Diags notes;
    ASSERT_TRUE(m.import({}, &notes).ok());
    EXPECT_EQ(notes.size(), 1u);
    EXPECT_NE(render(notes).find("3 nodes If, such as node y/0/make_next (If, condition c)"),
              std::string::npos)
        << render(notes);
  }
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
  const std::string whole = m.bytes();
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 1 + i % 3; ++k)
      bytes[random.engine() % bytes.size()] ^= static_cast<char>(1 << random.engine() % 8);
    const Result<ir::Graph> g = import_onnx(std::as_bytes(std::span(bytes)), "flipped.onnx");
    accepted += g.ok() ? 1 : 0;
    if (g.ok()) {
      EXPECT_EQ(render(ir::verify(*g)), "");
    }
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 1800);
}

}  // namespace
}  // namespace assay::import
