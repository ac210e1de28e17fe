// Bodies and branches of operators with graphs of their own.
#pragma once

#include "tests/compiler/import/model_builder.h"

namespace assay::import {

using Values = std::vector<double>;
using Words = std::vector<std::string>;

// A node of a function, body or branch, named after its first output.
template <class Nodes>
NodeBuilder add(Nodes& of, const char* op_type, const Words& from, const Words& to) {
  onnx::NodeProto* n = of.add_node();
  n->set_op_type(op_type);
  n->set_name("make_" + to[0]);
  for (const std::string& name : from) n->add_input(name);
  for (const std::string& name : to) n->add_output(name);
  return NodeBuilder(n);
}

// A graph of a body or branch. Inputs and outputs have names only, as the importer needs no more.
class Body {
 public:
  explicit Body(const Words& inputs) {
    for (const std::string& name : inputs) graph.add_input()->set_name(name);
  }
  NodeBuilder add(const char* op_type, const Words& from, const Words& to) {
    return import::add(graph, op_type, from, to);
  }
  Body& weights(const char* name, const Shape& shape, const Floats& values) {
    onnx::TensorProto* t = graph.add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t extent : shape) t->add_dims(extent);
    t->set_raw_data(values.data(), values.size() * sizeof(float));
    return *this;
  }
  Body& integer(const char* name, int64_t value) {
    onnx::TensorProto* t = graph.add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::INT64);
    t->add_int64_data(value);
    return *this;
  }
  Body& output(const char* name) {
    graph.add_output()->set_name(name);
    return *this;
  }
  onnx::GraphProto graph;
};

inline void expect_said(const ModelBuilder& m, const std::string& part) {
  EXPECT_NE(m.faults().find(part), std::string::npos) << m.faults();
}

inline void add_count(ModelBuilder& m, int64_t count) {
  m.constant<int64_t>("count", {}, onnx::TensorProto::INT64, {count});
}

}  // namespace assay::import
