// Small ONNX models built in the test, imported and evaluated.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "compiler/import/import_onnx.h"
#include "compiler/import/proto.h"

namespace assay::import {

using Shape = std::vector<int64_t>;
using Floats = std::vector<float>;

inline int64_t count_of(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

struct Random {
  std::mt19937 engine;
  explicit Random(unsigned seed = 1) : engine(seed) {}
  int64_t pick(std::initializer_list<int64_t> from) {
    return *(from.begin() + engine() % from.size());
  }
  Floats floats(const Shape& shape, double low = -1, double high = 1) {
    Floats values(static_cast<size_t>(count_of(shape)));
    for (float& v : values)
      v = static_cast<float>(low + (high - low) * static_cast<double>(engine() % 100000) / 100000);
    return values;
  }
};

class NodeBuilder {
 public:
  explicit NodeBuilder(onnx::NodeProto* node) : node_(node) {}
  NodeBuilder& set(const char* name, int64_t value) {
    onnx::AttributeProto* a = add(name, onnx::AttributeProto::INT);
    a->set_i(value);
    return *this;
  }
  NodeBuilder& set(const char* name, int value) { return set(name, int64_t{value}); }
  NodeBuilder& set(const char* name, float value) {
    add(name, onnx::AttributeProto::FLOAT)->set_f(value);
    return *this;
  }
  NodeBuilder& set(const char* name, const char* value) {
    add(name, onnx::AttributeProto::STRING)->set_s(value);
    return *this;
  }
  NodeBuilder& set(const char* name, const Shape& values) {
    onnx::AttributeProto* a = add(name, onnx::AttributeProto::INTS);
    for (int64_t v : values) a->add_ints(v);
    return *this;
  }
  NodeBuilder& set(const char* name, const Floats& values) {
    onnx::AttributeProto* a = add(name, onnx::AttributeProto::FLOATS);
    for (float v : values) a->add_floats(v);
    return *this;
  }
  NodeBuilder& set(const char* name, const std::vector<std::string>& values) {
    onnx::AttributeProto* a = add(name, onnx::AttributeProto::STRINGS);
    for (const std::string& v : values) a->add_strings(v);
    return *this;
  }
  NodeBuilder& set(const char* name, const onnx::GraphProto& graph) {
    *add(name, onnx::AttributeProto::GRAPH)->mutable_g() = graph;
    return *this;
  }
  NodeBuilder& domain(const char* name) {
    node_->set_domain(name);
    return *this;
  }
  onnx::NodeProto* proto() { return node_; }

 private:
  onnx::AttributeProto* add(const char* name, onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto* a = node_->add_attribute();
    a->set_name(name);
    a->set_type(type);
    return a;
  }
  onnx::NodeProto* node_;
};

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 13) {
    model.set_ir_version(7);
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->set_name("test");
  }

  ModelBuilder& input(const std::string& name, const Shape& shape, Floats values = {},
                      int element = onnx::TensorProto::FLOAT) {
    onnx::ValueInfoProto* v = model.mutable_graph()->add_input();
    v->set_name(name);
    onnx::TypeProto::Tensor* type = v->mutable_type()->mutable_tensor_type();
    type->set_elem_type(element);
    type->mutable_shape();
    for (int64_t extent : shape) type->mutable_shape()->add_dim()->set_dim_value(extent);
    inputs.push_back(std::move(values));
    return *this;
  }

  ModelBuilder& weights(const std::string& name, const Shape& shape, const Floats& values) {
    onnx::TensorProto* t = tensor(name, shape, onnx::TensorProto::FLOAT);
    t->set_raw_data(values.data(), values.size() * sizeof(float));
    return *this;
  }

  ModelBuilder& integers(const std::string& name, const Shape& values) {
    onnx::TensorProto* t =
        tensor(name, {static_cast<int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (int64_t v : values) t->add_int64_data(v);
    return *this;
  }

  // Elements as raw bytes of T.
  template <class T>
  ModelBuilder& constant(const std::string& name, const Shape& shape, int type,
                         const std::vector<T>& values) {
    tensor(name, shape, type)->set_raw_data(values.data(), values.size() * sizeof(T));
    return *this;
  }

  NodeBuilder node(const char* op_type, const std::vector<std::string>& from,
                   const std::vector<std::string>& to) {
    onnx::NodeProto* n = model.mutable_graph()->add_node();
    n->set_op_type(op_type);
    n->set_name(to.empty() ? op_type : "make_" + to[0]);
    for (const std::string& name : from) n->add_input(name);
    for (const std::string& name : to) n->add_output(name);
    return NodeBuilder(n);
  }

  ModelBuilder& output(const std::string& name) {
    model.mutable_graph()->add_output()->set_name(name);
    return *this;
  }

  std::string bytes() const { return model.SerializeAsString(); }

  Result<ir::Graph> import(const OnnxOptions& options = {}, Diags* notes = nullptr) const {
    const std::string data = bytes();
    return import_onnx(std::as_bytes(std::span(data)), "test.onnx", options, notes);
  }

  // The first output's values; its shape goes to `shape`.
  std::vector<double> run(Shape* shape = nullptr, const OnnxOptions& options = {}) const {
    std::vector<Shape> shapes;
    std::vector<std::vector<double>> values = run_all(&shapes, options);
    if (values.empty()) return {};
    if (shape) *shape = shapes[0];
    return values[0];
  }

  // All outputs' values; empty: a failure, which is reported.
  std::vector<std::vector<double>> run_all(std::vector<Shape>* shapes = nullptr,
                                           const OnnxOptions& options = {}) const {
    const Result<ir::Graph> g = import(options);
    if (!g.ok()) {
      ADD_FAILURE() << render(g.diags());
      return {};
    }
    const auto values = ir::evaluate(*g, inputs);
    if (!values.ok()) {
      ADD_FAILURE() << render(values.diags());
      return {};
    }
    std::vector<std::vector<double>> out;
    for (const int id : g->outputs) {
      out.push_back(values.value()[static_cast<size_t>(id)]);
      if (shapes) shapes->push_back(g->tensors[static_cast<size_t>(id)].shape);
    }
    return out;
  }

  // What an import that fails says; empty: it succeeds.
  std::string faults() const {
    const Result<ir::Graph> g = import();
    return g.ok() ? "" : render(g.diags());
  }

  onnx::ModelProto model;
  std::vector<Floats> inputs;

 private:
  onnx::TensorProto* tensor(const std::string& name, const Shape& shape, int type) {
    onnx::TensorProto* t = model.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(type);
    for (int64_t extent : shape) t->add_dims(extent);
    return t;
  }
};

inline void expect_near(const std::vector<double>& got, const std::vector<double>& want,
                        double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << "at " << i;
}

inline void add_flag(ModelBuilder& m, const char* name, bool value) {
  m.constant<char>(name, {}, onnx::TensorProto::BOOL, {static_cast<char>(value)});
}

// Models with up to three bits flipped: what is read of them verifies. Returns how many are read.
inline int accepted_with_flipped_bits(const std::string& whole, int rounds, unsigned seed) {
  std::mt19937 random(seed);
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 1 + i % 3; ++k)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    const Result<ir::Graph> g = import_onnx(std::as_bytes(std::span(bytes)), "flipped.onnx");
    accepted += g.ok() ? 1 : 0;
    if (g.ok()) {
      EXPECT_EQ(render(ir::verify(*g)), "");
    }
  }
  return accepted;
}

}  // namespace assay::import
