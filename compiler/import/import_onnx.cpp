// The driver: bytes -> protobuf -> initialisers, inputs, nodes in order, outputs -> pruned graph.
#include "compiler/import/import_onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "compiler/import/importer.h"
#include "compiler/import/indexing.h"
#include "compiler/import/narrow.h"
#include "compiler/import/prune.h"

namespace assay::import {
namespace {

constexpr size_t kMostDiags = 10'000;

}  // namespace

Importer::Importer(const onnx::ModelProto& model, std::string_view file, const OnnxOptions& options)
    : model_(model), graph_(model.graph()), file_(file), options_(options), c_(options) {}

Result<ir::Graph> Importer::run() {
  c_.opset = read_opset(model_.opset_import(), 1);
  read_functions();
  c_.graph.name = graph_.name();
  read_initialisers();
  read_inputs();
  Nodes nodes;
  for (const onnx::NodeProto& n : graph_.node()) nodes.push_back(&n);
  add_nodes(nodes);
  if (graph_.output_size() == 0) report("the graph has no output");
  for (const onnx::ValueInfoProto& v : graph_.output())
    attempt([&] { add_output(v.name()); }, v.name());
  for (Diag& d : c_.external.faults()) diags_.push_back(std::move(d));
  if (has_error(diags_)) return std::move(diags_);
  return finish();
}

Result<ir::Graph> Importer::finish() {
  note_chosen();
  const std::vector<int> renamed = prune(c_.graph);
  std::vector<char> is_value(c_.graph.tensors.size(), 0);
  for (const int id : c_.values())
    if (const int now = renamed[static_cast<size_t>(id)]; now >= 0)
      is_value[static_cast<size_t>(now)] = 1;
  for (Diag& d : store_as(c_.graph, is_value, options_.type)) note(d.message, d.hint);
  std::vector<char> is_whole(c_.graph.tensors.size(), 0);
  for (const int id : c_.whole)
    if (const int now = renamed[static_cast<size_t>(id)]; now >= 0)
      is_whole[static_cast<size_t>(now)] = 1;
  for (Diag& d : narrow(c_.graph, is_whole))
    if (d.severity == Severity::note)
      note(d.message, d.hint);
    else
      report(d.message, d.hint);
  for (Diag& d : ir::verify(c_.graph)) report(d.message, d.hint);
  if (has_error(diags_)) return std::move(diags_);
  return std::move(c_.graph);
}

void Importer::report(std::string message, std::string hint) {
  if (diags_.size() > kMostDiags) return;
  Diag d = diags_.size() == kMostDiags ? error("there are more errors, which are not listed")
                                       : error(std::move(message), std::move(hint));
  d.file = file_;
  diags_.push_back(std::move(d));
}

void Importer::report(const std::string& subject, const Refusal& refusal) {
  if (!refusal.message.empty()) report(subject + ": " + refusal.message, refusal.hint);
}

void Importer::note(std::string message, std::string hint) {
  Diag d = error(std::move(message), std::move(hint));
  d.severity = Severity::note;
  d.file = file_;
  if (std::find(notes_.begin(), notes_.end(), d) == notes_.end()) notes_.push_back(std::move(d));
}

int64_t Importer::read_opset(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& sets, int64_t otherwise) {
  int64_t opset = otherwise;
  for (const onnx::OperatorSetIdProto& set : sets)
    if (is_onnx(set.domain())) opset = set.version();
  if (opset > kNewestOpset)
    note(fmt::format("opset {} is newer than {}, the newest that is known", opset, kNewestOpset),
         fmt::format("operators are read as opset {} defines them", kNewestOpset));
  return opset;
}

void Importer::read_functions() {
  for (const onnx::FunctionProto& f : model_.functions())
    if (!functions_.try_emplace({is_onnx(f.domain()) ? "" : f.domain(), f.name()}, &f).second)
      report(fmt::format("the function {} is defined twice", f.name()),
             "overloads of functions are not supported");
}

void Importer::read_initialisers() {
  for (const onnx::TensorProto& t : graph_.initializer())
    attempt([&] { add_initialiser(t, t.name()); }, t.name());
  if (graph_.sparse_initializer_size() > 0)
    report("the graph has sparse initialisers", "save them as dense tensors");
}

void Importer::add_initialiser(const onnx::TensorProto& t, const std::string& name) {
  if (name.empty()) refuse("an initialiser without a name");
  if (!initialisers_.insert(name).second) refuse("there are two initialisers of this name");
  names_.insert(name);
  c_.enter(name);
  c_.define(name, add_tensor_proto(c_, t, ""));
}

// A node computes each output: an input, a constant or a tensor that is an output already is
// copied.
void Importer::add_output(const std::string& name) {
  if (failed_.contains(name)) return;
  const std::optional<int> id = c_.value(name);
  if (!id) refuse("no node computes this output");
  c_.check_shape(c_.shape(*id));  // elements
  std::vector<int>& outputs = c_.graph.outputs;
  const bool listed = std::find(outputs.begin(), outputs.end(), *id) != outputs.end();
  int tensor = *id;
  if (listed || ir::producer_of(c_.graph, tensor) < 0)
    tensor = copy_of(tensor, name);
  else if (c_.tensor(tensor).name != name)
    c_.rename(tensor, name);
  outputs.push_back(tensor);
}

int Importer::copy_of(int from, const std::string& name) {
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

namespace {

Diag file_error(std::string_view file, std::string message, std::string hint) {
  Diag d = error(std::move(message), std::move(hint));
  d.file = file;
  return d;
}

}  // namespace

Result<ir::Graph> import_onnx(std::span<const std::byte> bytes, std::string_view file,
                              const OnnxOptions& options, Diags* notes) {
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
  Importer importer(model, file, options);
  Result<ir::Graph> graph = importer.run();
  if (notes && graph) notes->insert(notes->end(), importer.notes().begin(), importer.notes().end());
  return graph;
}

}  // namespace assay::import
