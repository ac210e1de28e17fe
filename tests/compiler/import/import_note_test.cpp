// What an import says though it succeeds.
#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

std::string notes_of(const ModelBuilder& m) {
  Diags notes;
  const Result<ir::Graph> g = m.import({}, &notes);
  EXPECT_TRUE(g.ok()) << render(g.diags());
  EXPECT_FALSE(has_error(notes));
  return render(notes);
}

ModelBuilder relu(int64_t opset, int type = TensorProto::FLOAT) {
  ModelBuilder m(opset);
  m.input("x", {2}, {-1, 2}, type).output("y");
  m.node("Relu", {"x"}, {"y"});
  return m;
}

TEST(ImportNotes, AnOpsetThatIsNotKnown) {
  EXPECT_EQ(notes_of(relu(kNewestOpset)), "");
  EXPECT_EQ(notes_of(relu(99)),
            "test.onnx: note: opset 99 is newer than 28, the newest that is known\n"
            "hint: operators are read as opset 28 defines them\n");
  expect_near(relu(99).run(), {0, 2});
  ModelBuilder other = relu(13);  // another domain has versions of its own
  onnx::OperatorSetIdProto* set = other.model.add_opset_import();
  set->set_domain("com.microsoft");
  set->set_version(99);
  EXPECT_EQ(notes_of(other), "");
}

TEST(ImportNotes, TypesThatAreComputedInF32) {
  EXPECT_EQ(notes_of(relu(13, TensorProto::DOUBLE)),
            "test.onnx: note: 2 values of type f64, such as x, are computed in f32; inputs of this "
            "type are given in f32\n");
  expect_near(relu(13, TensorProto::DOUBLE).run(), {0, 2});
}

// Weights of another type are numbers like others once they are read.
TEST(ImportNotes, ConstantsAreNotComputed) {
  ModelBuilder m;
  m.input("x", {2}).constant<double>("c", {2}, TensorProto::DOUBLE, {1, 2}).output("y");
  m.node("Cast", {"c"}, {"w"}).set("to", TensorProto::FLOAT);
  m.node("Add", {"x", "w"}, {"y"});
  EXPECT_EQ(notes_of(m), "");
}

}  // namespace
}  // namespace assay::import
