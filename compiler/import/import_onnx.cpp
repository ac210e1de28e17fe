// The driver: bytes -> protobuf -> initialisers, inputs, nodes in order, outputs -> pruned graph.
#include "compiler/import/import_onnx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>
#include <set>

#include "compiler/import/fold.h"
#include "compiler/import/indexing.h"
#include "compiler/import/narrow.h"
#include "compiler/import/operators.h"
#include "compiler/import/prune.h"
#include "support/edit_distance.h"

namespace assay::import {
namespace {

constexpr size_t kMostDiags = 100;

class Importer {  // invariant: a name is in failed_ when the node that defines it was refused
 public:
  Importer(const onnx::ModelProto& model, std::string_view file, const OnnxOptions& options)
      : model_(model), graph_(model.graph()), file_(file), options_(options), c_(options) {}

  Result<ir::Graph> run() {
    read_opset();
    c_.graph.name = graph_.name();
    for (const onnx::TensorProto& t : graph_.initializer())
      attempt([&] { add_initialiser(t); }, t.name());
    if (graph_.sparse_initializer_size() > 0)
      report("the graph has sparse initialisers", "save them as dense tensors");
    for (const onnx::ValueInfoProto& v : graph_.input())
      if (!initialisers_.contains(v.name())) attempt([&] { add_input(v); }, v.name());
    check_dims();
    for (const onnx::NodeProto& n : graph_.node())
      for (const std::string& output : n.output()) outputs_.insert(output);
    for (const onnx::NodeProto& n : graph_.node()) add_node(n);
    if (graph_.output_size() == 0) report("the graph has no output");
    for (const onnx::ValueInfoProto& v : graph_.output())
      attempt([&] { add_output(v.name()); }, v.name());
    if (has_error(diags_)) return std::move(diags_);
    prune(c_.graph);
    for (Diag& d : narrow(c_.graph)) report(d.message, d.hint);
    for (Diag& d : ir::verify(c_.graph)) report(d.message, d.hint);
    if (has_error(diags_)) return std::move(diags_);
    return std::move(c_.graph);
  }

 private:
  void report(std::string message, std::string hint = "") {
    if (diags_.size() >= kMostDiags) return;
    Diag d = error(std::move(message), std::move(hint));
    d.file = file_;
    diags_.push_back(std::move(d));
  }

  template <class F>
  bool attempt(F f, const std::string& name) {
    try {
      f();
      return true;
    } catch (const Refusal& refusal) {
      report(fmt::format("value {}: {}", name, refusal.message), refusal.hint);
      failed_.insert(name);
      return false;
    }
  }

  void read_opset() {
    for (const onnx::OperatorSetIdProto& set : model_.opset_import())
      if (set.domain().empty() || set.domain() == "ai.onnx") c_.opset = set.version();
  }

  void add_initialiser(const onnx::TensorProto& t) {
    if (t.name().empty()) refuse("an initialiser without a name");
    if (!initialisers_.insert(t.name()).second) refuse("there are two initialisers of this name");
    c_.enter(t.name());
    c_.define(t.name(), add_tensor_proto(c_, t, ""));
  }

  int64_t extent_of(const onnx::TensorShapeProto::Dimension& d) const {
    if (d.has_dim_value()) return d.dim_value();
    const auto bound = options_.dims.find(d.dim_param());
    if (d.has_dim_param() && bound != options_.dims.end()) return bound->second;
    refuse(fmt::format("it has the dimension \"{}\" without a fixed extent", d.dim_param()),
           d.dim_param().empty()
               ? "export the model with static shapes"
               : fmt::format("export the model with static shapes, or give {} a value",
                             d.dim_param()));
  }

  // A value for a dimension that no input has is a misspelt name.
  void check_dims() {
    std::set<std::string> symbolic;
    for (const onnx::ValueInfoProto& v : graph_.input())
      for (const auto& d : v.type().tensor_type().shape().dim())
        if (!d.dim_param().empty()) symbolic.insert(d.dim_param());
    const std::vector<std::string> known(symbolic.begin(), symbolic.end());
    for (const auto& [name, extent] : options_.dims) {
      if (symbolic.contains(name)) continue;
      const std::string near = nearest(name, known);
      report(fmt::format("no input has a dimension \"{}\"", name),
             !near.empty()   ? fmt::format("did you mean {}?", near)
             : known.empty() ? "all extents are fixed"
                             : fmt::format("there are: {}", fmt::join(known, ", ")));
    }
  }

  void add_input(const onnx::ValueInfoProto& v) {
    if (c_.value(v.name()) || v.name().empty())
      refuse("an input without a name, or of a name that is taken");
    if (!v.type().has_tensor_type() || !v.type().tensor_type().has_shape())
      refuse("the input is not a tensor with a shape");
    const onnx::TypeProto::Tensor& type = v.type().tensor_type();
    ir::Tensor t{c_.unique(v.name()), dtype_of(type.elem_type()), {}, -1};
    if (t.dtype == ir::DType::f64)
      refuse("an input of f64 would lose its precision and range",
             "elements are f32 when a program runs; export the model in f32");
    for (const auto& d : type.shape().dim()) t.shape.push_back(extent_of(d));
    c_.check_shape(t.shape);
    c_.define(v.name(), static_cast<int>(c_.graph.tensors.size()));
    c_.graph.inputs.push_back(static_cast<int>(c_.graph.tensors.size()));
    c_.graph.tensors.push_back(std::move(t));
  }

  static std::string describe(const onnx::NodeProto& n) {
    return fmt::format("node {} ({}, output {})", n.name().empty() ? "without a name" : n.name(),
                       n.op_type(), n.output_size() > 0 ? n.output(0) : "none");
  }

  void fail(const onnx::NodeProto& n) { failed_.insert(n.output().begin(), n.output().end()); }

  // Whether all operands are known; the first that is not is reported.
  bool inputs_known(const onnx::NodeProto& n) {
    for (const std::string& name : n.input()) {
      if (name.empty() || c_.value(name)) continue;
      if (!failed_.contains(name)) report_undefined(n, name);
      fail(n);
      return false;
    }
    return true;
  }

  void report_undefined(const onnx::NodeProto& n, const std::string& name) {
    if (outputs_.contains(name))
      report(fmt::format("{}: its input {} is computed by a later node, or not at all", describe(n),
                         name),
             "the nodes form a cycle or are not in topological order, or this output is not "
             "supported");
    else
      report(fmt::format("{}: its input {} is not defined", describe(n), name),
             "an initialiser is missing, or the file is damaged");
  }

  const Operator* operator_of(const onnx::NodeProto& n) {
    if (!n.domain().empty() && n.domain() != "ai.onnx") {
      report(
          fmt::format("{}: operators of the domain {} are not supported", describe(n), n.domain()));
      return nullptr;
    }
    if (const Operator* found = find_operator(n.op_type())) return found;
    std::vector<std::string> names;
    for (std::string_view name : supported_operators()) names.emplace_back(name);
    const std::string near = nearest(n.op_type(), names);
    report(fmt::format("{}: the operator {} is not supported", describe(n), n.op_type()),
           near.empty() ? "" : fmt::format("the nearest supported one is {}", near));
    return nullptr;
  }

  void add_node(const onnx::NodeProto& n) {
    if (!inputs_known(n)) return;
    const Operator* op = operator_of(n);
    if (!op) return fail(n);
    const size_t first = c_.graph.nodes.size();
    try {
      c_.enter(n);
      op->import(c_);
      if (c_.folds()) fold_nodes(c_, first);
    } catch (const Refusal& refusal) {
      report(fmt::format("{}: {}", describe(n), refusal.message), refusal.hint);
      c_.graph.nodes.resize(first);
      fail(n);
    }
  }

  // A node computes each output: an input, a constant or a tensor that is an output already is
  // copied.
  void add_output(const std::string& name) {
    if (failed_.contains(name)) return;
    const std::optional<int> id = c_.value(name);
    if (!id) refuse("no node computes this output");
    std::vector<int>& outputs = c_.graph.outputs;
    const bool listed = std::find(outputs.begin(), outputs.end(), *id) != outputs.end();
    int tensor = *id;
    if (listed || ir::producer_of(c_.graph, tensor) < 0)
      tensor = copy_of(tensor, name);
    else if (c_.tensor(tensor).name != name)
      c_.rename(tensor, name);
    outputs.push_back(tensor);
  }

  int copy_of(int from, const std::string& name) {
    onnx::NodeProto identity;
    identity.add_output(name);
    identity.set_name(name);
    c_.enter(identity);
    Expression e;
    e.op = "copy";
    e.spatial = axes_for(c_.shape(from));
    e.reads = {plain_read(from, identity_index(c_.shape(from).size()))};
    e.body = ir::read(0);
    const int to = c_.emit(std::move(e));
    if (c_.tensor(from).name == name && c_.is_constant(from)) {
      c_.graph.tensors[static_cast<size_t>(to)].name = name;
      c_.rename(from, name + ".value");
    } else {
      c_.rename(to, name);
    }
    return to;
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  std::string file_;
  const OnnxOptions& options_;
  Context c_;
  Diags diags_;
  std::set<std::string> initialisers_, failed_, outputs_;
};

Diag file_error(std::string_view file, std::string message, std::string hint) {
  Diag d = error(std::move(message), std::move(hint));
  d.file = file;
  return d;
}

}  // namespace

Result<ir::Graph> import_onnx(std::span<const std::byte> bytes, std::string_view file,
                              const OnnxOptions& options) {
  if (bytes.size() > size_t{INT_MAX})
    return file_error(
        file,
        fmt::format("the file has {} bytes, protobuf reads at most {}", bytes.size(), INT_MAX), "");
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return file_error(file, "this is not an ONNX model, or it is truncated",
                      "the bytes could not be read as the protobuf message onnx.ModelProto");
  if (!model.has_graph())
    return file_error(file, "the model has no graph", "the file may be truncated");
  return Importer(model, file, options).run();
}

}  // namespace assay::import
