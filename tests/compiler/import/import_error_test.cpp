// Models that are refused, with their messages; damaged files.
#include "tests/compiler/import/model_builder.h"
#include "tests/ir/damaged_input.h"

namespace assay::import {
namespace {

std::string faults(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

TEST(ImportErrors, NameTheNode) {
  ModelBuilder m;
  m.input("x", {1, 2}).output("y");
  m.node("Sigmoyd", {"x"}, {"y"});
  EXPECT_EQ(
      faults(m),
      "test.onnx: error: node make_y (Sigmoyd, output y): the operator Sigmoyd is not supported\n"
      "hint: the nearest supported one is Sigmoid\n");
}

TEST(ImportErrors, AllAtOnceAndNotTheirConsequences) {
  ModelBuilder m;
  m.input("x", {2, 3}).output("d");
  m.node("Frobnicate", {"x"}, {"a"});
  m.node("Relu", {"a"}, {"b"});
  m.node("Conv", {"x", "missing"}, {"c"});
  m.node("Add", {"b", "c"}, {"d"});
  const Result<ir::Graph> g = m.import();
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.diags().size(), 2u) << render(g.diags());
  EXPECT_NE(render(g.diags()).find("its input missing is not defined"), std::string::npos);
}

TEST(ImportErrors, Cycles) {
  ModelBuilder m;
  m.input("x", {2}).output("d");
  m.node("Add", {"x", "b"}, {"a"});
  m.node("Relu", {"a"}, {"b"});
  m.node("Neg", {"b"}, {"d"});
  m.node("Add", {"x", "e"}, {"e"});
  m.node("Relu", {"x"}, {"c"});
  EXPECT_EQ(faults(m),
            "test.onnx: error: the nodes form a cycle: node make_a (Add, output a), node make_b "
            "(Relu, output b)\n"
            "hint: no order of the nodes computes each operand before it is read\n"
            "test.onnx: error: node make_e (Add, output e) reads its own output\n"
            "hint: no order of the nodes computes each operand before it is read\n");
}

TEST(ImportErrors, SymbolicShapesUnlessBound) {
  ModelBuilder m;
  m.input("x", {1, 3}).output("y");
  m.node("Relu", {"x"}, {"y"});
  m.model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("N");
  EXPECT_NE(faults(m).find("value x: it has the dimension \"N\" without a fixed extent"),
            std::string::npos);
  OnnxOptions options;
  options.dims["N"] = 4;
  const Result<ir::Graph> g = m.import(options);
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g.value().tensors[0].shape, (Shape{4, 3}));
  options.dims["batch"] = 4;
  const Result<ir::Graph> none = m.import(options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(render(none.diags()),
            "test.onnx: error: no input has a dimension \"batch\"\nhint: there are: N\n");
  // C is a dimension too, though N is the first one without a value.
  m.model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_param("C");
  OnnxOptions second;
  second.dims["C"] = 3;
  const std::string why = render(m.import(second).diags());
  EXPECT_NE(why.find("the dimension \"N\" without a fixed extent"), std::string::npos) << why;
  EXPECT_EQ(why.find("no input has a dimension"), std::string::npos) << why;
}

TEST(ImportErrors, WrongElementCounts) {
  ModelBuilder m;
  m.input("x", {2}).weights("w", {3}, {1, 2}).output("y");
  m.node("Add", {"x", "w"}, {"y"});
  EXPECT_EQ(faults(m),
            "test.onnx: error: value w: tensor w has 8 bytes of data, its shape [3] needs 12\n");
}

TEST(ImportErrors, ShapesThatDoNotFit) {
  ModelBuilder m;
  m.input("x", {1, 4, 5, 5}).weights("w", {8, 3, 3, 3}, Floats(216)).output("y");
  m.node("Conv", {"x", "w"}, {"y"});
  EXPECT_NE(faults(m).find(
                "node make_y (Conv, output y): the weights have 3 channels per group, the input 4"),
            std::string::npos);
}

TEST(ImportErrors, TooMuchMemory) {
  ModelBuilder m;
  m.integers("shape", {1 << 20, 1 << 20}).output("y");
  m.node("ConstantOfShape", {"shape"}, {"y"});
  EXPECT_NE(faults(m).find("exceed the limit"), std::string::npos);
}

TEST(ImportErrors, NamesThatAreNotUtf8) {
  ModelBuilder m;
  m.input("x", {2}).output("y");
  m.node("Relu", {"x"}, {"y"});
  m.model.mutable_graph()->set_name("caf\xe9");
  EXPECT_EQ(faults(m), "test.onnx: error: graph: its name is not UTF-8\n");
}

TEST(ImportErrors, NotAModel) {
  const std::string text = "schema: assay/graph/1\n";
  EXPECT_FALSE(import_onnx(std::as_bytes(std::span(text)), "x.yaml").ok());
  EXPECT_FALSE(import_onnx({}, "empty.onnx").ok());
}

// A model with most kinds of fields.
std::string small_model() {
  ModelBuilder m(9);
  m.input("x", {1, 2, 6, 6})
      .weights("w", {4, 2, 3, 3}, Floats(72, 1))
      .weights("b", {4}, Floats(4, 1))
      .integers("to", {1, -1});
  m.output("y");
  m.node("Conv", {"x", "w", "b"}, {"c"}).set("pads", Shape{1, 1, 1, 1}).set("strides", Shape{2, 2});
  m.node("AveragePool", {"c"}, {"p"})
      .set("kernel_shape", Shape{2, 2})
      .set("auto_pad", "SAME_UPPER");
  m.node("LRN", {"p"}, {"l"}).set("size", 3).set("alpha", 0.5F);
  m.node("Reshape", {"l", "to"}, {"r"});
  m.node("Clip", {"r"}, {"k"}).set("max", 6.0F);
  m.node("Softmax", {"k"}, {"y"});
  return m.bytes();
}

OnnxOptions tight() {
  OnnxOptions options;
  options.max_constant_bytes = 1 << 20;
  options.max_fold_points = 1e6;
  return options;
}

TEST(ImportHostile, TruncatedAtEveryByte) {
  const std::string whole = small_model();
  ASSERT_TRUE(import_onnx(std::as_bytes(std::span(whole)), "whole.onnx").ok());
  for (size_t n = 0; n < whole.size(); ++n) {
    SCOPED_TRACE(n);
    ir::samples::expect_errors_or_round_trip(
        import_onnx(std::as_bytes(std::span(whole.data(), n)), "cut.onnx", tight()));
  }
}

TEST(ImportHostile, FlippedBits) {
  const std::string whole = small_model();
  std::mt19937 random(31);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 1 + i % 3; ++k)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    const Result<ir::Graph> g =
        import_onnx(std::as_bytes(std::span(bytes)), "flipped.onnx", tight());
    if (i % 4 == 0) {  // a round trip takes longer than the import
      accepted += ir::samples::expect_errors_or_round_trip(g);
    } else if (g.ok()) {
      EXPECT_EQ(render(ir::verify(*g)), "");
    }
  }
  EXPECT_GT(accepted, 500);
  EXPECT_LT(accepted, 4500);
}

TEST(ImportHostile, RandomNumbersInAttributesAndShapes) {
  std::mt19937_64 random(32);
  const int64_t odd[] = {0, -1, 1, 2, INT64_MAX, INT64_MIN, int64_t{1} << 40, -7, int64_t{1} << 62,
                         3};
  const auto any = [&] { return odd[random() % 10]; };
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    ModelBuilder m(static_cast<int64_t>(1 + random() % 20));
    m.input("x", {1, 2, 3, 4})
        .weights("w", {2, 2, 1, 1}, Floats(4, 1))
        .integers("n", {any(), any()})
        .output("y");
    const char* domain = random() % 4 ? "" : "com.microsoft";
    const std::vector<std::string_view> ops = supported_operators(domain);
    NodeBuilder node =
        m.node(std::string(ops[random() % ops.size()]).c_str(),
               {random() % 4 ? "x" : "n", random() % 2 ? "n" : "w", "n", "n"}, {"y"});
    node.domain(domain);
    node.proto()->mutable_input()->DeleteSubrange(static_cast<int>(1 + random() % 3), 1);
    for (const char* name : {"axis", "group", "size", "to", "transA", "start"})
      if (random() % 2) node.set(name, any());
    for (const char* name : {"kernel_shape", "strides", "dilations", "axes", "perm", "shape"})
      if (random() % 2) node.set(name, Shape{any(), any()});
    if (random() % 2) node.set("pads", Shape{any(), any(), any(), any()});
    accepted += ir::samples::expect_errors_or_round_trip(m.import(tight()));
  }
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 4950);
}

// Operands of any rank, constant or not, with and without elements.
TEST(ImportHostile, RandomShapesOfOperands) {
  std::mt19937_64 random(33);
  const auto pick = [&](std::initializer_list<int64_t> from) {
    return *(from.begin() + random() % from.size());
  };
  int accepted = 0;
  for (int i = 0; i < 12000; ++i) {
    ModelBuilder m(pick({7, 11, 13, 18, 23, 25}));
    std::vector<std::string> operands;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
      if (random() % 5 == 0 || static_cast<int64_t>(operands.size()) >= pick({1, 2, 3, 5, 9})) {
        if (random() % 2) break;
        operands.emplace_back();
        continue;
      }
      Shape shape;
      for (int64_t rank = pick({0, 1, 2, 2, 3, 3, 4, 4, 4, 5}); rank > 0; --rank)
        shape.push_back(random() % 40 ? pick({1, 2, 2, 4, 4, 3}) : 0);
      if (random() % 3)
        m.input(name, shape, {},
                random() % 4 ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
      else
        m.weights(name, shape, Floats(static_cast<size_t>(count_of(shape)), 1));
      operands.emplace_back(name);
    }
    const char* domain = random() % 2 ? "" : "com.microsoft";
    const std::vector<std::string_view> ops = supported_operators(domain);
    NodeBuilder node =
        m.node(std::string(ops[random() % ops.size()]).c_str(), operands, {"y", "z", "w", "v"});
    node.domain(domain);
    for (const char* name : {"num_heads", "q_num_heads", "kv_num_heads", "is_causal", "axis",
                             "unidirectional", "interleaved", "rotary_embedding_dim", "transA",
                             "sampling_ratio", "left_window_size", "group", "transBatchB"})
      if (random() % 3 == 0) node.set(name, pick({0, 1, 1, 2, 4, -1}));
    m.output("y");
    accepted += ir::samples::expect_errors_or_round_trip(m.import(tight()));
  }
  EXPECT_GT(accepted, 300);
}

}  // namespace
}  // namespace assay::import
