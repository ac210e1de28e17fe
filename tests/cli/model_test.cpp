// `compile` of ONNX files, end to end.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/assay_process.h"
#include "tests/compiler/import/model_builder.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using import::ModelBuilder;
using testing::HasSubstr;
using testing::Not;

class Models : public testing::Test {
 protected:
  Outcome compile(const ModelBuilder& m, const std::vector<std::string>& more = {}) const {
    std::ofstream(dir_.at("m.onnx"), std::ios::binary) << m.bytes();
    std::vector<std::string> words = {
        "compile", dir_.at("m.onnx"), "--profile", "generic/x86-avx512-2core",
        "-o",      dir_.at("bundle"), "--no-build"};
    words.insert(words.end(), more.begin(), more.end());
    return run_assay(words);
  }
  void expect_refused(const Outcome& o, const std::string& message) const {
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_THAT(o.err, HasSubstr(message));
    EXPECT_EQ(o.out, "");
    EXPECT_FALSE(std::filesystem::exists(dir_.at("bundle")));
  }
  ScratchDirectory dir_;
};

ModelBuilder relu_of(const import::Shape& shape, int64_t opset = 11,
                     int type = onnx::TensorProto::FLOAT) {
  ModelBuilder m(opset);
  m.input("x", shape, {}, type).output("y");
  m.node("Relu", {"x"}, {"y"});
  return m;
}

TEST_F(Models, OpenShapes) {
  const ModelBuilder m = relu_of({-1, 3, 8, 8});
  expect_refused(compile(m), "hint: --shape x=?x3x8x8 with a number for each open extent");
  expect_refused(compile(m, {"--shape", "x=1x3x8x9"}),
                 "--shape gives 9 for its dimension 3, the model fixes 8");
  expect_refused(compile(m, {"--shape", "z=1x3x8x8"}), "there is no input z, which --shape names");
  EXPECT_EQ(compile(m, {"--shape", "x=1x3x8x8"}).code, 0);
  std::ifstream plan(dir_.at("bundle/plan.yaml"));
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(plan), {}),
              HasSubstr("name: x, type: f32 1x3x8x8,"));
}

TEST_F(Models, ShapesThatAreNone) {
  const ModelBuilder m = relu_of({-1, 3});
  for (const char* text : {"x", "x=", "=1x3", "x=1x", "x=1xx3", "x=1x0", "x=1x-3", "x=1,3",
                           "x=1x99999999999999999999"})
    expect_refused(compile(m, {"--shape", text}),
                   std::string("--shape '") + text + "' is not INPUT=EXTENTS");
  expect_refused(compile(m, {"--shape", "x=1x3", "--shape", "x=2x3"}), "--shape x is given twice");
  const Outcome op = run_assay({"compile", "--op", "relu n=8", "--shape", "x=8", "--profile",
                                "generic/x86-avx512-2core", "-o", dir_.at("bundle"), "--no-build"});
  expect_refused(op, "--shape is for models");
}

TEST_F(Models, NotesOfTheImport) {
  EXPECT_EQ(compile(relu_of({8})).err, "");
  const Outcome future = compile(relu_of({8}, 99));
  EXPECT_EQ(future.code, 0);
  EXPECT_THAT(future.err, HasSubstr("m.onnx: note: opset 99 is newer than "));
  const Outcome half = compile(relu_of({8}, 13, onnx::TensorProto::FLOAT16), {"--format", "json"});
  EXPECT_EQ(half.code, 0);
  EXPECT_EQ(half.err, "");
  EXPECT_EQ(nlohmann::json::parse(half.out)["type"], "f16");
  const Outcome wide = compile(relu_of({8}, 13, onnx::TensorProto::DOUBLE), {"--format", "json"});
  EXPECT_EQ(wide.code, 0);
  EXPECT_THAT(wide.err, HasSubstr("note: 2 values of type f64, such as x, are computed in f32"));
  EXPECT_THAT(nlohmann::json::parse(wide.out)["notes"][0].get<std::string>(),
              HasSubstr("2 values of type f64"));
}

// relu of f32 numbers from (-1, 1): one rounding to f16, and another to store what is rounded.
TEST_F(Models, AnotherTypeAndTheErrorItMakes) {
  expect_refused(compile(relu_of({8}), {"--type", "f12"}), "f12");
  const Outcome op = run_assay({"compile", "--op", "relu n=8", "--type", "f16", "--profile",
                                "generic/x86-avx512-2core", "-o", dir_.at("bundle"), "--no-build"});
  expect_refused(op, "--type is for models: an operator says its own");
  const Outcome half = compile(relu_of({8}), {"--type", "f16", "--format", "json"});
  ASSERT_EQ(half.code, 0) << half.err;
  const nlohmann::json out = nlohmann::json::parse(half.out);
  EXPECT_EQ(out["type"], "f16");
  EXPECT_THAT(out["notes"][0].get<std::string>(), HasSubstr("stored in f16, output y differs by "));
  EXPECT_THAT(half.err, HasSubstr("note: stored in f16, output y differs by "));
  const Outcome as_given = compile(relu_of({8}), {"--type", "any"});
  EXPECT_EQ(as_given.err, "");
  EXPECT_THAT(as_given.out, HasSubstr(" (f32) for "));
}

TEST_F(Models, WeightsBesideTheModel) {
  ModelBuilder m = relu_of({2});
  m.weights("w", {2}, {});
  onnx::TensorProto* t = m.model.mutable_graph()->mutable_initializer(0);
  t->clear_raw_data();
  t->set_data_location(onnx::TensorProto::EXTERNAL);
  t->add_external_data()->set_key("location");
  t->mutable_external_data(0)->set_value("w.bin");
  m.output("z").node("Add", {"x", "w"}, {"z"});
  expect_refused(compile(m),
                 "w.bin: error: there is no such file\n"
                 "hint: a tensor of the model lies there: w");
  std::ofstream(dir_.at("w.bin"), std::ios::binary) << std::string(8, 'w');
  EXPECT_EQ(compile(m).code, 0);
}

TEST_F(Models, ManyErrorsOfOneKind) {
  ModelBuilder m;
  m.input("x", {2}).output("y");
  std::vector<std::string> parts;
  for (int i = 0; i < 37; ++i) {
    parts.push_back("v" + std::to_string(i));
    m.node(("Frob" + std::to_string(i)).c_str(), {"x"}, {parts.back()});
  }
  m.node("Sum", parts, {"y"});
  const Outcome o = compile(m);
  expect_refused(o, "the operator Frob9 is not supported");
  EXPECT_THAT(o.err, HasSubstr("\n... and 27 more of this kind\n"));
  EXPECT_THAT(o.err, Not(HasSubstr("Frob10")));
}

}  // namespace
}  // namespace assay::test
