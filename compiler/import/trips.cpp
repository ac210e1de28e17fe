#include "compiler/import/trips.h"

#include <fmt/format.h>

#include "compiler/import/unroll.h"

namespace assay::import {

const onnx::GraphProto& graph_of(const onnx::NodeProto& n, std::string_view name) {
  for (const onnx::AttributeProto& a : n.attribute())
    if (a.name() == name && a.has_g()) return a.g();
  refuse(fmt::format("its attribute {} is missing", name));
}

// Of a body that was added. What is missing because of an error in the body is said there.
std::vector<int> Importer::results_of(const Inlined& body) {
  std::vector<int> results;
  for (const std::string& name : body.outputs) {
    const std::optional<int> id = c_.value(name);
    if (!id && failed_.contains(name)) throw Refusal{};
    if (!id) refuse(fmt::format("its body does not compute the output {}", name));
    results.push_back(*id);
  }
  return results;
}

Importer::Trips::Trips(Importer& importer, const onnx::NodeProto& n)
    : in_(importer),
      n_(n),
      body_(repeated(graph_of(n, "body"), importer.fresh_prefix(n))),
      first_node_(importer.c_.graph.nodes.size()),
      first_tensor_(static_cast<int>(importer.c_.graph.tensors.size())),
      entered_(first_tensor_),
      unrolled_(importer.c_.unrolled) {}

size_t Importer::Trips::check_counts(size_t inputs, size_t outputs) const {
  const auto has_inputs = static_cast<size_t>(body().input_size()),
             has_outputs = static_cast<size_t>(body().output_size());
  if (has_inputs != inputs || has_outputs < outputs)
    refuse(fmt::format("its body has {} inputs and {} outputs, expected {} and at least {}",
                       has_inputs, has_outputs, inputs, outputs));
  const size_t wanted = static_cast<size_t>(n_.output_size());
  if (const size_t given = has_outputs - (n_.op_type() == "Loop" ? 1 : 0); wanted > given)
    refuse(fmt::format("it has {} outputs, its body gives {}", wanted, given));
  return has_outputs - outputs;
}

std::vector<int> Importer::Trips::add(const std::vector<int>& inputs) {
  if (number_ == kMostUnrolled)
    refuse(fmt::format("it has more than {} trips", kMostUnrolled), kUnrolledHint);
  if (number_ == 0) in_.add_contents(inline_once(body_));
  const Inlined trip = inline_trip(body_, number_++);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = body().input(static_cast<int>(i)).name();
    if (in_.c_.value(trip.inputs[i])) refuse(fmt::format("two inputs of its body are {}", name));
    in_.c_.define(trip.inputs[i], inputs[i]);
  }
  in_.add_contents(trip);
  std::vector<int> results = in_.results_of(trip);
  count();
  in_.c_.enter(n_);  // names what is added until the next trip
  entered_ = static_cast<int>(in_.c_.graph.tensors.size());
  return results;
}

// Nested operators have counted what they unrolled; it is part of the trips.
void Importer::Trips::count() {
  in_.c_.unrolled = unrolled_;
  count_unrolled(in_.c_, static_cast<int64_t>(in_.c_.graph.nodes.size() - first_node_),
                 fmt::format("its first {} trips", number_));
}

void Importer::Trips::bind(int output, int tensor) {
  if (output >= n_.output_size() || n_.output(output).empty()) return;
  if (tensor >= first_tensor_ && tensor < entered_) in_.c_.rename(tensor, n_.output(output));
  in_.c_.bind(output, tensor);
}

}  // namespace assay::import
