#include "compiler/import/inline.h"

#include <fmt/format.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <map>

#include "compiler/import/context.h"
#include "compiler/import/node_order.h"

namespace assay::import {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

class Renaming {  // invariant: names that are not in names_ get the prefix, or stay
 public:
  Renaming(std::string prefix, bool all) : prefix_(std::move(prefix)), all_(all) {}

  void set(const std::string& from, std::string to) { names_[from] = std::move(to); }
  void add_prefix(const std::string& name) {
    if (!name.empty()) names_[name] = prefix_ + name;
  }
  void forget(const std::string& name) { names_.erase(name); }

  std::string operator()(const std::string& name) const {
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    return all_ && !name.empty() ? prefix_ + name : name;
  }

 private:
  std::map<std::string, std::string> names_;
  std::string prefix_;
  bool all_;
};

template <class F>
void for_own_names(const onnx::GraphProto& g, F f) {
  for (const onnx::ValueInfoProto& v : g.input()) f(v.name());
  for (const onnx::TensorProto& t : g.initializer()) f(t.name());
  for (const NodeProto& n : g.node())
    for (const std::string& output : n.output()) f(output);
}

void rename(NodeProto& n, const Renaming& names);

// A subgraph's own names hide those around it.
void rename(onnx::GraphProto& g, Renaming names) {
  for_own_names(g, [&](const std::string& name) { names.forget(name); });
  for (onnx::ValueInfoProto& v : *g.mutable_input()) v.set_name(names(v.name()));
  for (onnx::TensorProto& t : *g.mutable_initializer()) t.set_name(names(t.name()));
  for (NodeProto& n : *g.mutable_node()) rename(n, names);
  for (onnx::ValueInfoProto& v : *g.mutable_output()) v.set_name(names(v.name()));
}

void rename(NodeProto& n, const Renaming& names) {
  for (std::string& name : *n.mutable_input()) name = names(name);
  for (std::string& name : *n.mutable_output()) name = names(name);
  for (AttributeProto& a : *n.mutable_attribute()) {
    if (a.has_g()) rename(*a.mutable_g(), names);
    for (onnx::GraphProto& g : *a.mutable_graphs()) rename(g, names);
  }
}

NodeProto renamed(const NodeProto& n, const Renaming& names, const std::string& prefix) {
  NodeProto copy = n;
  rename(copy, names);
  if (!n.name().empty()) copy.set_name(prefix + n.name());
  return copy;
}

using Attributes = std::map<std::string, AttributeProto>;

// The attributes with a default: attribute_proto of IR version 9, by its number.
Attributes defaults_of(const onnx::FunctionProto& f) {
  constexpr int kAttributeProto = 11;
  google::protobuf::Empty raw;  // knows no field, so that newer protobuf classes do not matter
  Attributes defaults;
  if (!raw.ParseFromString(f.SerializeAsString())) return defaults;
  const google::protobuf::UnknownFieldSet& fields = raw.GetReflection()->GetUnknownFields(raw);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    AttributeProto a;
    if (field.number() == kAttributeProto &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        a.ParseFromString(field.length_delimited()))
      defaults[a.name()] = a;
  }
  return defaults;
}

void fill_parameters(NodeProto& n, const Attributes& given) {
  for (int i = n.attribute_size(); i-- > 0;) {
    AttributeProto& a = *n.mutable_attribute(i);
    if (a.has_g())
      for (NodeProto& inner : *a.mutable_g()->mutable_node()) fill_parameters(inner, given);
    if (a.ref_attr_name().empty()) continue;
    const auto found = given.find(a.ref_attr_name());
    if (found == given.end()) {
      n.mutable_attribute()->DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = a.name();
    a = found->second;
    a.set_name(name);
  }
}

void check_counts(const onnx::FunctionProto& f, const NodeProto& call) {
  if (call.input_size() > f.input_size())
    refuse(fmt::format("{} operands for the function {}, which has {}", call.input_size(), f.name(),
                       f.input_size()));
  if (call.output_size() > f.output_size())
    refuse(fmt::format("{} outputs of the function {}, which has {}", call.output_size(), f.name(),
                       f.output_size()));
}

}  // namespace

Inlined inline_call(const onnx::FunctionProto& f, const NodeProto& call,
                    const std::string& prefix) {
  check_counts(f, call);
  Renaming names(prefix, true);
  for (int i = 0; i < f.input_size(); ++i)
    names.set(f.input(i), i < call.input_size() ? call.input(i) : "");
  Attributes given = defaults_of(f);
  for (const AttributeProto& a : call.attribute()) given[a.name()] = a;
  Inlined in;
  for (const NodeProto& n : f.node()) {
    in.nodes.push_back(renamed(n, names, prefix));
    fill_parameters(in.nodes.back(), given);
  }
  for (const std::string& output : f.output()) in.outputs.push_back(names(output));
  return in;
}

Inlined inline_branch(const onnx::GraphProto& branch, const std::string& prefix) {
  if (branch.input_size() > 0) refuse("a branch of an If has no inputs, this one has");
  if (branch.sparse_initializer_size() > 0)
    refuse("a branch has sparse initialisers", "save them as dense tensors");
  Renaming names(prefix, false);
  for_own_names(branch, [&](const std::string& name) { names.add_prefix(name); });
  Inlined in;
  for (const onnx::TensorProto& t : branch.initializer())
    in.initialisers.emplace_back(&t, names(t.name()));
  for (const NodeProto& n : branch.node()) in.nodes.push_back(renamed(n, names, prefix));
  for (const onnx::ValueInfoProto& v : branch.output()) in.outputs.push_back(names(v.name()));
  return in;
}

Repeated repeated(const onnx::GraphProto& body, const std::string& prefix) {
  if (body.sparse_initializer_size() > 0)
    refuse("its body has sparse initialisers", "save them as dense tensors");
  Repeated r{&body, prefix, {}, {}, {}};
  for (const onnx::ValueInfoProto& v : body.input()) r.varying.insert(v.name());
  Nodes nodes;
  for (const NodeProto& n : body.node()) nodes.push_back(&n);
  NodeOrder order = order_of(nodes);
  for (const NodeProto* n : order.nodes) {
    const std::set<std::string> operands = operands_of(*n);
    const bool varies = std::any_of(operands.begin(), operands.end(), [&](const std::string& name) {
      return r.varying.contains(name);
    });
    (varies ? r.each : r.once).push_back(n);
    if (varies) r.varying.insert(n->output().begin(), n->output().end());
  }
  for (const Nodes& cycle : order.cycles) r.each.insert(r.each.end(), cycle.begin(), cycle.end());
  return r;
}

namespace {

constexpr const char* kOnce = "once/";

Renaming names_in(const Repeated& r, const std::string& trip) {
  Renaming names(r.prefix, false);
  for_own_names(*r.body, [&](const std::string& name) {
    if (!name.empty()) names.set(name, r.prefix + (r.varying.contains(name) ? trip : kOnce) + name);
  });
  return names;
}

}  // namespace

Inlined inline_once(const Repeated& r) {
  const Renaming names = names_in(r, kOnce);
  Inlined in;
  for (const onnx::TensorProto& t : r.body->initializer())
    in.initialisers.emplace_back(&t, names(t.name()));
  for (const NodeProto* n : r.once) in.nodes.push_back(renamed(*n, names, r.prefix + kOnce));
  return in;
}

Inlined inline_trip(const Repeated& r, int64_t trip) {
  const std::string number = fmt::format("{}/", trip);
  const Renaming names = names_in(r, number);
  Inlined in;
  for (const NodeProto* n : r.each) in.nodes.push_back(renamed(*n, names, r.prefix + number));
  for (const onnx::ValueInfoProto& v : r.body->input()) in.inputs.push_back(names(v.name()));
  for (const onnx::ValueInfoProto& v : r.body->output()) in.outputs.push_back(names(v.name()));
  return in;
}

}  // namespace assay::import
