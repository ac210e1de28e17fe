// Models whose weights lie in files beside them.
#include <filesystem>
#include <fstream>

#include "tests/compiler/import/model_builder.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/compile.h"

namespace assay::toolkit {
namespace {

namespace fs = std::filesystem;

// y = x + w, with w from byte 4 of a file on.
void write_model(const std::string& path, const std::string& location) {
  import::ModelBuilder m;
  m.input("x", {2}).weights("w", {2}, {}).output("y");
  onnx::TensorProto* t = m.model.mutable_graph()->mutable_initializer(0);
  t->clear_raw_data();
  t->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair{"location", location.c_str()}, {"offset", "4"}}) {
    onnx::StringStringEntryProto* e = t->add_external_data();
    e->set_key(key);
    e->set_value(value);
  }
  m.node("Add", {"x", "w"}, {"y"});
  std::ofstream(path, std::ios::binary) << m.bytes();
}

void write_floats(const std::string& path, const std::vector<float>& values) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
}

class ReadModel : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_.at("model/sub"));
    for (const char* name : {"w.bin", "model/w.bin", "model/sub/w.bin"})
      write_floats(dir_.at(name), {0, 5, 7});
  }
  // The weights as they were read, or the errors.
  std::string read(const std::string& location) const {
    const std::string path = dir_.at("model/m.onnx");
    write_model(path, location);
    const Result<Model> model = read_model(path, {});
    if (!model) return render(model.diags());
    const auto values = ir::evaluate(model->graph, std::vector<std::vector<float>>{{1, 2}});
    const auto& y = (*values)[static_cast<size_t>(model->graph.outputs[0])];
    return std::to_string(static_cast<int>(y[0])) + " " + std::to_string(static_cast<int>(y[1]));
  }
  test::ScratchDirectory dir_;
};

TEST_F(ReadModel, WeightsLieBesideIt) {
  EXPECT_EQ(read("w.bin"), "6 9");
  EXPECT_EQ(read("./sub/../w.bin"), "6 9");
  EXPECT_EQ(read("sub/w.bin"), "6 9");
}

TEST_F(ReadModel, NoPathLeavesTheFolder) {
  for (const std::string& location : {std::string("../w.bin"), std::string("sub/../../w.bin"),
                                      dir_.at("model/w.bin"), std::string("..")}) {
    const std::string said = read(location);
    EXPECT_EQ(said.find(location + ": error: the model names this file for weights, outside of its "
                                   "folder\nhint: a tensor of the model lies there: w"),
              0u)
        << said;
  }
}

TEST_F(ReadModel, FilesThatCanNotBeRead) {
  EXPECT_EQ(read("none.bin").find(dir_.at("model/none.bin") + ": error: there is no such file\n"),
            0u)
      << read("none.bin");
  EXPECT_NE(read("sub").find("error:"), std::string::npos);
  write_floats(dir_.at("model/w.bin"), {0, 5});
  EXPECT_NE(read("w.bin").find("tensor w takes 8 bytes from byte 4 of w.bin on, which has 8"),
            std::string::npos)
      << read("w.bin");
}

}  // namespace
}  // namespace assay::toolkit
