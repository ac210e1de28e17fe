// Nodes of the graph, of functions' bodies, of branches and of trips: ordered, then added one by
// one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/import/fold.h"
#include "compiler/import/importer.h"
#include "compiler/import/indexing.h"
#include "compiler/import/quantised.h"

namespace assay::import {
namespace {

// Bodies may call others twice, those again, and so on.
constexpr int kMostNested = 64;
constexpr int64_t kMostInlined = 200'000;

// Operators that take 4-bit integers, which are stored in 8 bits, for the numbers that they are.
constexpr std::string_view kTakeFourBit[] = {"Cast", "DequantizeLinear", "Identity"};

std::string describe(const onnx::NodeProto& n) {
  return fmt::format("node {} ({}, output {})", n.name().empty() ? "without a name" : n.name(),
                     n.op_type(), n.output_size() > 0 ? n.output(0) : "none");
}

Nodes pointers_to(const auto& nodes) {
  Nodes out;
  for (const onnx::NodeProto& n : nodes) out.push_back(&n);
  return out;
}

// What they do to numbers they do to the integers that stand for them, with one positive scale.
constexpr std::string_view kKeepScale[] = {"Flatten", "Identity",  "MaxPool",  "Reshape",
                                           "Squeeze", "Transpose", "Unsqueeze"};

bool keeps_scale(const Context& c, const onnx::NodeProto& n) {
  if (n.output_size() != 1 || n.output(0).empty() || !is_onnx(n.domain()) ||
      std::find(std::begin(kKeepScale), std::end(kKeepScale), n.op_type()) == std::end(kKeepScale))
    return false;
  const auto found = c.dequantised.find(c.input(0));
  if (found == c.dequantised.end() || c.is_constant(found->second.q) ||
      ir::bytes_of(c.tensor(found->second.q).dtype) != 1)
    return false;
  const std::optional<double> scale = c.single(found->second.scale);
  return found->second.axis < 0 && scale && *scale > 0;
}

void check_four_bit(const Context& c) {
  const std::string& op = c.node().op_type();
  if (std::find(std::begin(kTakeFourBit), std::end(kTakeFourBit), op) != std::end(kTakeFourBit))
    return;
  for (int i = 0; i < c.input_count(); ++i)
    if (c.has_input(i) && c.four_bit.contains(c.input(i)))
      refuse(fmt::format("operand {} holds integers of 4 bits", c.tensor(c.input(i)).name),
             fmt::format("{} take them", fmt::join(kTakeFourBit, ", ")));
}

}  // namespace

void Importer::add_nodes(const Nodes& nodes) {
  for (const onnx::NodeProto* n : nodes)
    for (const std::string& output : n->output()) {
      outputs_.insert(output);
      names_.insert(output);
    }
  const NodeOrder order = order_of(nodes);
  for (const Nodes& cycle : order.cycles) report_cycle(cycle);
  for (const onnx::NodeProto* n : order.nodes) add_node(*n);
}

void Importer::report_cycle(const Nodes& cycle) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min<size_t>(cycle.size(), 4); ++i)
    names.push_back(describe(*cycle[i]));
  const std::string rest =
      cycle.size() > names.size() ? fmt::format(" and {} more", cycle.size() - names.size()) : "";
  report(cycle.size() == 1
             ? fmt::format("{} reads its own output", names[0])
             : fmt::format("the nodes form a cycle: {}{}", fmt::join(names, ", "), rest),
         "no order of the nodes computes each operand before it is read");
  for (const onnx::NodeProto* n : cycle) fail(*n);
}

void Importer::fail(const onnx::NodeProto& n) {
  failed_.insert(n.output().begin(), n.output().end());
}

// Whether all operands are known; the first that is not is reported.
bool Importer::inputs_known(const onnx::NodeProto& n) {
  for (const std::string& name : n.input()) {
    if (name.empty() || c_.value(name)) continue;
    if (!failed_.contains(name)) report_undefined(n, name);
    return false;
  }
  return true;
}

void Importer::report_undefined(const onnx::NodeProto& n, const std::string& name) {
  if (outputs_.contains(name))
    report(fmt::format("{}: its input {} is not computed", describe(n), name),
           "this output of the node that should compute it is not supported");
  else
    report(fmt::format("{}: its input {} is not defined", describe(n), name),
           "an initialiser is missing, or the file is damaged");
}

void Importer::add_node(const onnx::NodeProto& n) {
  if (!inputs_known(n)) return fail(n);
  const size_t first = c_.graph.nodes.size();
  try {
    c_.enter(n);
    if (const onnx::FunctionProto* f = function_of(n))
      add_call(n, *f);
    else if (!add_control_flow(n))
      add_operator(n);
  } catch (const Refusal& refusal) {
    report(describe(n), refusal);
    c_.graph.nodes.resize(first);
    fail(n);
  }
}

void Importer::add_operator(const onnx::NodeProto& n) {
  const Operator* op = find_operator(n.op_type(), n.domain());
  if (!op) throw unsupported(n.op_type(), n.domain());
  check_operands(c_, *op);
  check_four_bit(c_);
  const size_t first = c_.graph.nodes.size();
  c_.remarks.clear();
  if (add_on_integers(n, *op)) return;
  op->import(c_);
  for (const std::string& remark : std::exchange(c_.remarks, {}))
    note(fmt::format("{}: {}", describe(n), remark));
  if (c_.folds()) fold_nodes(c_, first);
}

// The operator on the integers, which are dequantised behind it.
bool Importer::add_on_integers(const onnx::NodeProto& n, const Operator& op) {
  if (!keeps_scale(c_, n)) return false;
  const int numbers = c_.input(0);
  Context::Dequantised of = c_.dequantised.at(numbers);
  c_.define(n.input(0), of.q);
  op.import(c_);
  c_.define(n.input(0), numbers);
  of.q = *c_.value(n.output(0));
  c_.rename(of.q, n.output(0) + ".integers");
  const Shape shape = c_.shape(of.q);
  Expression e = pointwise("dequantise", shape, ir::DType::f32, "numbers");
  e.body = dequantised_operand(c_, of.q, of.scale, of.zero, shape, e.reads);
  const int out = c_.emit(std::move(e));
  c_.rename(out, n.output(0));
  c_.define(n.output(0), out);
  c_.dequantised[out] = of;
  return true;
}

const onnx::FunctionProto* Importer::function_of(const onnx::NodeProto& n) const {
  const auto found = functions_.find({is_onnx(n.domain()) ? "" : n.domain(), n.op_type()});
  return found == functions_.end() ? nullptr : found->second;
}

void Importer::add_call(const onnx::NodeProto& n, const onnx::FunctionProto& f) {
  if (std::find(calls_.begin(), calls_.end(), &f) != calls_.end())
    refuse(fmt::format("the function {} calls itself", f.name()),
           "a body is put in place of a call");
  const Inlined body = inline_call(f, n, fresh_prefix(n));
  const int64_t opset = c_.opset;
  c_.opset = read_opset(f.opset_import(), opset);
  calls_.push_back(&f);
  try {
    add_inlined(n, body);
  } catch (const Refusal&) {
    calls_.pop_back();
    c_.opset = opset;
    throw;
  }
  calls_.pop_back();
  c_.opset = opset;
}

void Importer::add_inlined(const onnx::NodeProto& n, const Inlined& body) {
  const int first = static_cast<int>(c_.graph.tensors.size());
  add_contents(body);
  for (int i = 0; i < n.output_size(); ++i)
    bind_result(n, i, body.outputs[static_cast<size_t>(i)], first);
}

// Initialisers and nodes.
void Importer::add_contents(const Inlined& body) {
  inlined_ += static_cast<int64_t>(body.nodes.size()) + 1;
  if (inlined_ > kMostInlined)
    refuse(fmt::format("more than {} nodes come of functions, branches and trips", kMostInlined));
  if (depth_ == kMostNested)
    refuse(fmt::format("functions, branches and trips are nested deeper than {}", kMostNested));
  ++depth_;
  for (const auto& [tensor, name] : body.initialisers)
    attempt([&] { add_initialiser(*tensor, name); }, name);
  add_nodes(pointers_to(body.nodes));
  --depth_;
}

// A tensor that the body added gets the name of the node's output.
void Importer::bind_result(const onnx::NodeProto& n, int output, const std::string& inner,
                           int first) {
  const std::string& name = n.output(output);
  if (name.empty()) return;
  const std::optional<int> id = c_.value(inner);
  if (!id || c_.value(name)) {
    if (id)
      report(fmt::format("{}: output {} is defined twice", describe(n), name));
    else if (!failed_.contains(inner))
      report(fmt::format("{}: its body does not compute the output {}", describe(n), name));
    failed_.insert(name);
    return;
  }
  if (*id >= first) c_.rename(*id, name);
  c_.define(name, *id);
}

// The name of the node's output and a slash, with a number where a value has such a name.
std::string Importer::fresh_prefix(const onnx::NodeProto& n) {
  const std::string base = n.output_size() > 0 && !n.output(0).empty() ? n.output(0) : n.op_type();
  for (int number = 1;; ++number) {
    std::string prefix = number == 1 ? base + "/" : fmt::format("{}.{}/", base, number);
    const auto next = names_.lower_bound(prefix);
    if (next != names_.end() && next->starts_with(prefix)) continue;
    names_.insert(prefix);
    return prefix;
  }
}

}  // namespace assay::import
