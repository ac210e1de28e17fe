// Weights in files beside the model: read by the caller's function, part by part.
#include <cstring>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

// Files in memory, and how often each was asked for.
struct Files {
  std::map<std::string, Floats> content;
  std::map<std::string, int> asked;

  OnnxOptions options() {
    OnnxOptions o;
    o.external_file = [this](const std::string& location) -> Result<std::span<const std::byte>> {
      ++asked[location];
      const auto found = content.find(location);
      if (found != content.end()) return std::as_bytes(std::span(found->second));
      Diag d = error("there is no such file");
      d.file = "folder/" + location;
      return d;
    };
    return o;
  }
};

using Entries = std::vector<std::pair<const char*, const char*>>;

void add_external(ModelBuilder& m, const std::string& name, const Shape& shape,
                  const Entries& entries) {
  m.weights(name, shape, {});
  onnx::TensorProto* t =
      m.model.mutable_graph()->mutable_initializer(m.model.graph().initializer_size() - 1);
  t->clear_raw_data();
  t->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    onnx::StringStringEntryProto* e = t->add_external_data();
    e->set_key(key);
    e->set_value(value);
  }
}

// y = x w + b with w at byte 8 of the file, b behind it.
ModelBuilder affine(const Entries& w, const Entries& b) {
  ModelBuilder m;
  m.input("x", {1, 2}, {10, 100}).output("y");
  add_external(m, "w", {2, 2}, w);
  add_external(m, "b", {2}, b);
  m.node("MatMul", {"x", "w"}, {"p"});
  m.node("Add", {"p", "b"}, {"y"});
  return m;
}

std::string faults(const ModelBuilder& m, const OnnxOptions& options) {
  const Result<ir::Graph> g = m.import(options);
  return g.ok() ? "" : render(g.diags());
}

TEST(ImportExternal, PartsOfOneFile) {
  Files files{{{"sub/w.bin", {-1, -1, 1, 2, 3, 4, 7, 8, -1}}}, {}};
  const ModelBuilder m =
      affine({{"location", "sub/w.bin"}, {"offset", "8"}, {"length", "16"}, {"checksum", "0"}},
             {{"location", "sub/w.bin"}, {"offset", "24"}});
  expect_near(m.run(nullptr, files.options()), {317, 428});
  EXPECT_EQ(files.asked.at("sub/w.bin"), 1);
}

TEST(ImportExternal, TheWholeFileIsTheDefault) {
  Files files{{{"w", {1, 2, 3, 4}}, {"b", {5, 6}}}, {}};
  expect_near(affine({{"location", "w"}}, {{"location", "b"}}).run(nullptr, files.options()),
              {315, 426});
}

TEST(ImportExternal, AMissingFileIsSaidOnce) {
  ModelBuilder m;
  m.input("x", {1}).output("y");
  std::vector<std::string> operands = {"x"};
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    add_external(m, name, {1}, {{"location", "w.bin"}});
    operands.emplace_back(name);
  }
  add_external(m, "f", {1}, {{"location", "f.bin"}});
  operands.emplace_back("f");
  m.node("Sum", operands, {"y"});
  Files none;
  EXPECT_EQ(faults(m, none.options()),
            "folder/f.bin: error: there is no such file\n"
            "hint: a tensor of the model lies there: f\n"
            "folder/w.bin: error: there is no such file\n"
            "hint: 5 tensors of the model lie there: a, b, c and 2 more\n");
  EXPECT_EQ(none.asked.at("w.bin"), 1);
}

TEST(ImportExternal, PlacesOutsideOfTheFile) {
  Files files{{{"w", {1, 2, 3, 4}}, {"b", {5, 6}}}, {}};
  const auto expect = [&](const Entries& b, const char* message) {
    const std::string said = faults(affine({{"location", "w"}}, b), files.options());
    EXPECT_NE(said.find(std::string("test.onnx: error: value b: tensor b") + message),
              std::string::npos)
        << said;
  };
  expect({{"location", "b"}, {"offset", "4"}},
         " takes 8 bytes from byte 4 of b on, which has 8 bytes");
  expect({{"location", "b"}, {"offset", "9223372036854775807"}}, " takes 8 bytes from byte 92233");
  expect({{"location", "b"}, {"offset", "-4"}}, ": its offset in an external file is '-4'");
  expect({{"location", "b"}, {"offset", "4x"}}, ": its offset in an external file is '4x'");
  expect({{"location", "b"}, {"length", "4"}}, " has 4 bytes of data, its shape [2] needs 8");
  expect({}, " lies in an external file that is not named");
}

TEST(ImportExternal, IsRefusedWhereNobodyReadsFiles) {
  EXPECT_EQ(faults(affine({{"location", "w"}}, {{"location", "b"}}), {}),
            "test.onnx: error: value w: tensor w lies in the external file w\n"
            "hint: save the model as one file\n"
            "test.onnx: error: value b: tensor b lies in the external file b\n"
            "hint: save the model as one file\n");
}

}  // namespace
}  // namespace assay::import
