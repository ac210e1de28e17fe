// What an operator's function works on: the graph so far, the current ONNX node, ways to read its
// operands and attributes, and ways to add to the graph.
//
// Every ONNX value is a tensor of the graph, constants too; unused ones are pruned at the end. An
// operator that can not be expressed throws a Refusal. The driver turns it into a Diag that names
// the node and continues with the nodes that do not depend on it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/import/external_data.h"
#include "compiler/import/import_onnx.h"
#include "compiler/import/proto.h"
#include "ir/graph.h"

namespace assay::import {

using Shape = std::vector<int64_t>;

struct Refusal {
  std::string message;  // empty: it is said elsewhere
  std::string hint;
};

[[noreturn]] void refuse(std::string message, std::string hint = "");

bool is_empty(const Shape& shape);  // has an extent of 0

// What one emitted node is made of; the output shape is the extents of `spatial`.
struct Expression {
  std::string op;
  std::string suffix;  // of names, when an ONNX node becomes several
  std::vector<ir::Axis> spatial;
  std::vector<ir::Axis> reduce;
  std::vector<ir::Read> reads;
  ir::Scalar body;
  ir::Combiner combine = ir::Combiner::none;
  ir::Kind kind = {};
  std::optional<ir::DType> dtype;  // of the output; none: of the first read
};

class Context {  // invariant: values_ maps each ONNX name to a tensor of `graph`
 public:
  explicit Context(const OnnxOptions& options)
      : external(options.external_file), options_(options) {}

  ir::Graph graph;
  int64_t opset = 1;
  ExternalData external;
  std::set<int> whole;  // tensors of i32 that stay i32 when the model runs
  // What DequantizeLinear makes: (q - zero) scale. Zero: -1: none. Axis: of the scales, -1: one.
  struct Dequantised {
    int q = -1, scale = -1, zero = -1, axis = -1;
  };
  std::map<int, Dequantised> dequantised;
  // What a product of integers is scaled to: x times these numbers, along an axis of x.
  struct Scaled {
    int x = -1;
    std::vector<int> times;
    int axis = -1;
  };
  std::map<int, Scaled> scaled;
  std::vector<std::string> remarks;  // of the current node
  std::set<int> four_bit;            // constants of 4-bit integers; they are stored in 8 bits
  int64_t unrolled = 0;              // nodes of steps and trips so far

  // Operands of the current node.
  void enter(const onnx::NodeProto& node);
  void enter(std::string name) { base_ = std::move(name); }  // outside nodes: names what is added
  const onnx::NodeProto& node() const { return *node_; }
  int input_count() const { return node_->input_size(); }
  bool has_input(int i) const;
  int input(int i) const;  // tensor; refuses when it is missing
  bool folds() const;      // every operand is constant: emitted nodes are folded, integers exactly

  // Attributes of the current node; the wrong type is refused.
  bool has_attribute(std::string_view name) const { return find_attribute(name) != nullptr; }
  int64_t int_attribute(std::string_view name, int64_t otherwise) const;
  double float_attribute(std::string_view name, double otherwise) const;
  std::string string_attribute(std::string_view name, std::string otherwise) const;
  Shape ints_attribute(std::string_view name, Shape otherwise = {}) const;
  std::vector<double> floats_attribute(std::string_view name) const;
  std::vector<std::string> strings_attribute(std::string_view name) const;
  const onnx::TensorProto* tensor_attribute(std::string_view name) const;

  // Tensors.
  const ir::Tensor& tensor(int id) const { return graph.tensors[static_cast<size_t>(id)]; }
  const Shape& shape(int id) const { return tensor(id).shape; }
  bool is_constant(int id) const { return tensor(id).constant >= 0; }
  Shape integers(int id) const;               // of an integer constant; refuses others
  std::vector<double> numbers(int id) const;  // of a constant; refuses others
  const std::vector<std::byte>& bytes(int id) const;
  std::optional<double> single(int id) const;  // the value of a constant with one element

  // Adding to the graph.
  void make_constant(int tensor, std::vector<std::byte> bytes);  // of a computed tensor
  int add_constant(ir::DType dtype, Shape shape, std::vector<std::byte> bytes,
                   std::string suffix = "const");
  int add_numbers(ir::DType dtype, Shape shape, const std::vector<double>& values,
                  std::string suffix = "const");
  int add_integers(ir::DType dtype, Shape shape, const std::vector<int64_t>& values);
  int add_empty(ir::DType dtype, Shape shape = {0});  // a tensor without elements
  int emit(Expression e);             // adds a node named after the ONNX node; its output
  void bind(int output, int tensor);  // names the tensor when it is new

  // Refuses shapes beyond the graph's limits, and constants beyond the options' limit.
  void check_shape(const Shape& shape) const;
  void check_constant_size(ir::DType dtype, const Shape& shape) const;

  // Names of values, for the driver.
  std::optional<int> value(const std::string& name) const;
  void define(const std::string& name, int tensor) { values_[name] = tensor; }
  std::vector<int> values() const;  // tensors that have such names
  void rename(int tensor, const std::string& name);
  std::string unique(const std::string& name);
  const OnnxOptions& options() const { return options_; }

 private:
  const onnx::AttributeProto* find_attribute(std::string_view name) const;
  const onnx::AttributeProto* attribute(std::string_view name,
                                        onnx::AttributeProto::AttributeType type) const;
  const OnnxOptions& options_;
  const onnx::NodeProto* node_ = nullptr;
  std::map<std::string, int> values_;
  std::map<std::string, int> names_;  // taken names, and the next number to try as a suffix
  std::string base_;                  // names of what the current node adds begin with it
  size_t first_new_tensor_ = 0;
  int64_t constant_bytes_ = 0;
};

// Element type and elements of a TensorProto.
ir::DType dtype_of(int onnx_type);
int add_tensor_proto(Context& c, const onnx::TensorProto& t, std::string suffix);

}  // namespace assay::import
