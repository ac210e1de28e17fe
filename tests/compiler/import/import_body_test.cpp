// Nodes in any order, model-local functions, branches of an If.
#include "tests/compiler/import/body_builder.h"

namespace assay::import {
namespace {

using onnx::AttributeProto;

std::string faults(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

onnx::FunctionProto* function(ModelBuilder& m, const char* name, const Words& from, const Words& to,
                              int64_t opset = 13) {
  onnx::FunctionProto* f = m.model.add_functions();
  f->set_domain("local");
  f->set_name(name);
  for (const std::string& input : from) f->add_input(input);
  for (const std::string& output : to) f->add_output(output);
  f->add_opset_import()->set_version(opset);
  return f;
}

void refer(NodeBuilder node, const char* attribute, const char* parameter) {
  AttributeProto* a = node.proto()->add_attribute();
  a->set_name(attribute);
  a->set_type(AttributeProto::FLOAT);
  a->set_ref_attr_name(parameter);
}

// attribute_proto has number 11; the protobuf classes here are older than it.
void add_default(onnx::FunctionProto* f, const char* name, float value) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::FLOAT);
  a.set_f(value);
  f->GetReflection()->MutableUnknownFields(f)->AddLengthDelimited(11, a.SerializeAsString());
}

// leaky(x; alpha = 0.5), twice(x; slope) = 2 leaky(x; slope)
void add_leaky_and_twice(ModelBuilder& m) {
  onnx::FunctionProto* twice = function(m, "twice", {"x"}, {"y"});
  refer(add(*twice, "leaky", {"x"}, {"t"}).domain("local"), "alpha", "slope");
  add(*twice, "Add", {"t", "t"}, {"y"});
  onnx::FunctionProto* leaky = function(m, "leaky", {"x"}, {"t"});
  refer(add(*leaky, "LeakyRelu", {"x"}, {"t"}), "alpha", "alpha");
  add_default(leaky, "alpha", 0.5F);
}

TEST(ImportOrder, NodesMayStandInAnyOrder) {
  ModelBuilder m;
  m.input("x", {3}, {-1, 2, -3}).output("y");
  m.node("Add", {"d", "c"}, {"y"});
  m.node("Mul", {"b", "b"}, {"d"});
  m.node("Neg", {"b"}, {"c"});
  m.node("Relu", {"a"}, {"b"});
  m.node("Add", {"x", "x"}, {"a"});
  expect_near(m.run(), {0, 12, 0});  // b = 0 4 0; b b - b
}

TEST(ImportOrder, OrderedNodesStayWhereTheyAre) {
  ModelBuilder m;
  m.input("x", {3}).output("y");
  m.node("Neg", {"x"}, {"b"});
  m.node("Relu", {"x"}, {"a"});
  m.node("Abs", {"x"}, {"c"});
  m.node("Sum", {"c", "a", "b"}, {"y"});
  const Result<ir::Graph> g = m.import();
  ASSERT_TRUE(g.ok()) << render(g.diags());
  Words names;
  for (const ir::Node& n : g->nodes) names.push_back(n.name);
  EXPECT_EQ(names, (Words{"make_b", "make_a", "make_c", "make_y"}));
}

TEST(ImportFunctions, NestedWithParametersAndDefaults) {
  ModelBuilder m;
  m.input("x", {2}, {-4, 8}).output("y");
  add_leaky_and_twice(m);
  m.node("twice", {"x"}, {"a"}).domain("local").set("slope", 0.25F);
  m.node("leaky", {"x"}, {"b"}).domain("local");
  m.node("twice", {"b"}, {"c"}).domain("local").set("slope", 2.0F);
  m.node("Sum", {"a", "b", "c"}, {"y"});
  // a = -2 16, b = -2 8, c = 2 (-4) 16
  expect_near(m.run(), {-12, 40});
}

// A parameter that is neither given nor has a default leaves the operator's own.
TEST(ImportFunctions, AMissingParameterIsTheOperatorsDefault) {
  ModelBuilder m;
  m.input("x", {1}, {-2}).output("y");
  onnx::FunctionProto* f = function(m, "f", {"x"}, {"y"});
  refer(add(*f, "LeakyRelu", {"x"}, {"y"}), "alpha", "slope");
  m.node("f", {"x"}, {"y"}).domain("local");
  expect_near(m.run(), {-0.02});
}

TEST(ImportFunctions, HaveTheirOwnOpsetAndOptionalOperands) {
  ModelBuilder m(13);
  m.input("x", {1, 2, 2}, {0, 0, 0, 0}).output("y");
  onnx::FunctionProto* f = function(m, "f", {"x", "low"}, {"y", "z"}, 12);
  add(*f, "Softmax", {"x"}, {"s"});  // until opset 12 over all dimensions from axis 1 on
  add(*f, "Clip", {"s", "low"}, {"y"});
  add(*f, "Neg", {"s"}, {"z"});
  m.node("f", {"x"}, {"a"}).domain("local");
  m.node("Softmax", {"x"}, {"b"});
  m.node("Sub", {"b", "a"}, {"y"});
  expect_near(m.run(), {0.25, 0.25, 0.25, 0.25});
}

TEST(ImportFunctions, RefusedByName) {
  ModelBuilder m;
  m.input("x", {1}).output("a").output("b").output("c");
  onnx::FunctionProto* f = function(m, "f", {"x"}, {"y"});
  add(*f, "g", {"x"}, {"y"}).domain("local");
  onnx::FunctionProto* g = function(m, "g", {"x"}, {"y"});
  add(*g, "f", {"x"}, {"y"}).domain("local");
  onnx::FunctionProto* outer = function(m, "h", {"v"}, {"y"});
  add(*outer, "Add", {"v", "x"}, {"y"});  // x is the graph's, not the function's
  m.node("f", {"x"}, {"a"}).domain("local");
  m.node("h", {"x"}, {"b"}).domain("local");
  m.node("h", {"x", "x"}, {"c"}).domain("local");
  const std::string said = faults(m);
  EXPECT_NE(said.find("the function f calls itself"), std::string::npos) << said;
  EXPECT_NE(said.find("(Add, output b/y): its input b/x is not defined"), std::string::npos)
      << said;
  EXPECT_NE(said.find("2 operands for the function h, which has 1"), std::string::npos) << said;
}

// Each function calls the next one twice.
TEST(ImportFunctions, ThatMultiplyAreLimited) {
  ModelBuilder m;
  m.input("x", {1}).output("y");
  for (int i = 0; i < 40; ++i) {
    onnx::FunctionProto* f = function(m, ("f" + std::to_string(i)).c_str(), {"x"}, {"y"});
    const std::string next = i == 39 ? "leaf" : "f" + std::to_string(i + 1);
    add(*f, next.c_str(), {"x"}, {"t"}).domain("local");
    add(*f, next.c_str(), {"t"}, {"y"}).domain("local");
  }
  add(*function(m, "leaf", {"x"}, {"y"}), "Neg", {"x"}, {"y"});
  m.node("f20", {"x"}, {"y"}).domain("local");
  EXPECT_NE(faults(m).find("more than 200000 nodes come of functions, branches and trips"),
            std::string::npos);
}

TEST(ImportFunctions, DeepOnesAreLimited) {
  ModelBuilder m;
  m.input("x", {1}).output("y");
  for (int i = 0; i < 100; ++i) {
    onnx::FunctionProto* f = function(m, ("f" + std::to_string(i)).c_str(), {"x"}, {"y"});
    add(*f, i == 99 ? "Neg" : ("f" + std::to_string(i + 1)).c_str(), {"x"}, {"y"})
        .domain(i == 99 ? "" : "local");
  }
  m.node("f0", {"x"}, {"y"}).domain("local");
  EXPECT_NE(faults(m).find("functions, branches and trips are nested deeper than 64"),
            std::string::npos);
  m.model.mutable_graph()->mutable_node(0)->set_op_type("f40");
  EXPECT_EQ(faults(m), "");
}

// A branch whose only output is `to`.
onnx::GraphProto branch(const char* op_type, const Words& from, const char* to) {
  onnx::GraphProto g;
  add(g, op_type, from, {to});
  g.add_output()->set_name(to);
  return g;
}

void set_branches(NodeBuilder node, const onnx::GraphProto& yes, const onnx::GraphProto& no) {
  const auto set = [&](const char* name, const onnx::GraphProto& g) {
    AttributeProto* a = node.proto()->add_attribute();
    a->set_name(name);
    a->set_type(AttributeProto::GRAPH);
    *a->mutable_g() = g;
  };
  set("then_branch", yes);
  set("else_branch", no);
}

TEST(ImportIf, AConstantConditionChooses) {
  for (const bool yes : {true, false}) {
    ModelBuilder m;
    m.input("x", {3}, {-1, 0, 2}).output("y");
    add_flag(m, "c", yes);
    set_branches(m.node("If", {"c"}, {"y"}), branch("Relu", {"x"}, "o"), branch("Neg", {"x"}, "o"));
    expect_near(m.run(), yes ? std::vector<double>{0, 0, 2} : std::vector<double>{1, 0, -2});
  }
}

// x has the shape [2, 3]: the condition is that of its first extent.
TEST(ImportIf, AFoldedConditionChooses) {
  for (const int64_t extent : {2, 3}) {
    ModelBuilder m;
    m.input("x", {2, 3}, {1, 2, 3, 4, 5, 6}).integers("zero", {0}).integers("n", {extent});
    m.output("y");
    set_branches(m.node("If", {"same"}, {"y"}), branch("Neg", {"x"}, "o"),
                 branch("Add", {"x", "x"}, "o"));
    m.node("Equal", {"first", "n"}, {"same"});
    m.node("Gather", {"shape", "zero"}, {"first"});
    m.node("Shape", {"x"}, {"shape"});
    const double factor = extent == 2 ? -1 : 2;
    std::vector<double> want;
    for (int i = 1; i <= 6; ++i) want.push_back(factor * i);
    expect_near(m.run(), want);
  }
}

// Two branches with the same inner names, constants and an If inside; they read what nodes that
// stand later compute.
TEST(ImportIf, BranchesHaveNamesOfTheirOwn) {
  ModelBuilder m;
  m.input("x", {2}, {1, 2}).output("y");
  add_flag(m, "c", true);
  const auto scaled = [](float factor, const char* from) {
    onnx::GraphProto g;
    onnx::TensorProto* t = g.add_initializer();
    t->set_name("w");
    t->set_data_type(onnx::TensorProto::FLOAT);
    t->add_float_data(factor);
    add(g, "Mul", {from, "w"}, {"t"});
    onnx::GraphProto inner = branch("Neg", {"t"}, "o");
    set_branches(add(g, "If", {"c"}, {"r"}), inner, inner);
    g.add_output()->set_name("r");
    return g;
  };
  const onnx::GraphProto wrong = branch("Relu", {"x"}, "o");
  set_branches(m.node("If", {"c"}, {"a"}), scaled(3, "later"), wrong);
  set_branches(m.node("If", {"c"}, {"b"}), scaled(10, "a"), wrong);
  m.node("Add", {"x", "x"}, {"later"});
  m.node("Add", {"a", "b"}, {"y"});
  // a = -3 2 x, b = -10 a
  expect_near(m.run(), {54, 108});
}

TEST(ImportIf, AResultMayBeAValueFromOutside) {
  ModelBuilder m;
  m.input("x", {2}, {1, 2}).output("y").output("z");
  add_flag(m, "c", false);
  onnx::GraphProto outside;
  outside.add_output()->set_name("x");
  set_branches(m.node("If", {"c"}, {"y"}), branch("Neg", {"x"}, "o"), outside);
  m.node("Neg", {"y"}, {"z"});
  expect_near(m.run(), {1, 2});
}

TEST(ImportIf, InAFunctionReadsItsOperands) {
  ModelBuilder m;
  m.input("v", {2}, {1, -2}).output("y");
  add_flag(m, "c", true);
  onnx::FunctionProto* f = function(m, "f", {"x", "c"}, {"y"});
  set_branches(add(*f, "If", {"c"}, {"y"}), branch("Abs", {"x"}, "o"), branch("Neg", {"x"}, "o"));
  m.node("f", {"v", "c"}, {"y"}).domain("local");
  expect_near(m.run(), {1, 2});
}

TEST(ImportIf, FaultsOfTheBranchNameItsNode) {
  ModelBuilder m;
  m.input("x", {2}).output("y").output("z");
  add_flag(m, "c", true);
  set_branches(m.node("If", {"c"}, {"y"}), branch("Frob", {"x"}, "o"), branch("Neg", {"x"}, "o"));
  onnx::GraphProto none;
  none.add_output()->set_name("nowhere");
  set_branches(m.node("If", {"c"}, {"z"}), none, none);
  const std::string said = faults(m);
  EXPECT_NE(said.find("node y/make_o (Frob, output y/o): the operator Frob is not supported"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("(If, output z): its body does not compute the output z"), std::string::npos)
      << said;
  EXPECT_EQ(m.import().diags().size(), 2u) << said;
}

// Damaged bodies are refused, or are graphs.
TEST(ImportHostile, FlippedBitsOfBodies) {
  ModelBuilder m;
  m.input("x", {2}, {1, 2}).output("y");
  add_flag(m, "c", true);
  add_leaky_and_twice(m);
  onnx::GraphProto yes = branch("Neg", {"t"}, "o");
  add(yes, "twice", {"x"}, {"t"}).domain("local").set("slope", 2.0F);
  set_branches(m.node("If", {"c"}, {"a"}), yes, branch("Relu", {"x"}, "o"));
  m.node("Add", {"a", "x"}, {"y"});
  const int accepted = accepted_with_flipped_bits(m.bytes(), 10000, 34);
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 9000);
}

}  // namespace
}  // namespace assay::import
