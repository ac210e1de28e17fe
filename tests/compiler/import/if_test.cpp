// If whose condition is known at run time: both branches, and a choice of elements.
#include "tests/compiler/import/body_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

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
            "test.onnx: note: node make_y (If, condition c): both branches are planned, since the "
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
              "planned, since its condition c is known only when the model runs\nhint: with a "
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

}  // namespace
}  // namespace assay::import
