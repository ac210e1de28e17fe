// If and Loop. A graph of tensor expressions has neither branches nor loops, so a branch stands in
// place of its If, and a body once per trip.
//
// Where an If's condition is known only when the model runs, both branches stand there, and each
// element of an output is chosen. That is legal since expressions have no side effects.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "compiler/import/importer.h"
#include "compiler/import/indexing.h"
#include "compiler/import/trips.h"
#include "compiler/import/unroll.h"
#include "ir/element.h"

namespace assay::import {
namespace {

void check_outputs(const onnx::NodeProto& n, const onnx::GraphProto& branch) {
  if (branch.output_size() != n.output_size())
    refuse(fmt::format("it has {} outputs, its branch {}", n.output_size(), branch.output_size()));
}

// The elements of `yes` where the condition, which has one element, is not 0; else those of `no`.
int chosen(Context& c, int condition, int yes, int no, const std::string& name) {
  if (yes == no) return yes;
  const ir::Tensor &a = c.tensor(yes), &b = c.tensor(no);
  if (a.shape != b.shape || a.dtype != b.dtype)
    refuse(fmt::format("its branches give {} the shapes [{}] and [{}] of {} and {}, expected the "
                       "same of both",
                       name, fmt::join(a.shape, ", "), fmt::join(b.shape, ", "),
                       ir::name_of(a.dtype), ir::name_of(b.dtype)),
           fmt::format("both are computed, and {} chooses between their elements",
                       c.tensor(condition).name));
  const Shape shape = a.shape;
  Expression e = pointwise("where", shape, a.dtype);
  const Shape one(c.shape(condition).size(), 1);
  e.reads = {plain_read(condition, broadcast_index(one, one)),
             plain_read(yes, identity_index(shape.size())),
             plain_read(no, identity_index(shape.size()))};
  e.body = choose(ir::read(0), ir::read(1), ir::read(2));
  return c.emit(std::move(e));
}

}  // namespace

bool Importer::add_control_flow(const onnx::NodeProto& n) {
  if (!is_onnx(n.domain())) return false;
  if (n.op_type() == "If")
    add_if(n);
  else if (n.op_type() == "Loop")
    add_loop(n);
  else if (n.op_type() == "Scan")
    add_scan(n);
  else
    return false;
  return true;
}

void Importer::add_if(const onnx::NodeProto& n) {
  const std::optional<double> condition = c_.single(c_.input(0));
  if (!condition) return add_both_branches(n);
  const onnx::GraphProto& branch = graph_of(n, *condition != 0 ? "then_branch" : "else_branch");
  check_outputs(n, branch);
  add_inlined(n, inline_branch(branch, fresh_prefix(n)));
}

// One of two branches: what it gives.
std::vector<int> Importer::add_branch(const onnx::NodeProto& n, const std::string& name) {
  const onnx::GraphProto& branch = graph_of(n, name);
  check_outputs(n, branch);
  const Inlined body = inline_branch(branch, fresh_prefix(n));
  const size_t errors = diags_.size();
  add_contents(body);
  if (diags_.size() > errors)
    refuse(fmt::format("its {} has errors, and both branches are planned, since its condition {} "
                       "is known only when the model runs",
                       name, n.input(0)),
           "with a constant condition, only one branch is read");
  return results_of(body);
}

void Importer::add_both_branches(const onnx::NodeProto& n) {
  const int condition = c_.input(0);
  if (ir::elements(c_.tensor(condition)) != 1)
    refuse(fmt::format("its condition {} has the shape [{}], expected one element", n.input(0),
                       fmt::join(c_.shape(condition), ", ")));
  const std::array<std::vector<int>, 2> results = {add_branch(n, "then_branch"),
                                                   add_branch(n, "else_branch")};
  c_.enter(n);
  for (int i = 0; i < n.output_size(); ++i)
    if (!n.output(i).empty())
      c_.bind(i, chosen(c_, condition, results[0][static_cast<size_t>(i)],
                        results[1][static_cast<size_t>(i)], n.output(i)));
  if (chosen_++ == 0)
    first_chosen_ = fmt::format("node {} (If, condition {})",
                                n.name().empty() ? "without a name" : n.name(), n.input(0));
}

void Importer::note_chosen() {
  if (chosen_ == 0) return;
  const std::string of =
      chosen_ == 1 ? first_chosen_ : fmt::format("{} nodes If, such as {}", chosen_, first_chosen_);
  note(of + ": both branches are planned, since the condition is known only when the model runs");
}

namespace {

// What a loop without trips gathers. The type of no elements matters to no one but operators that
// ask for equal types.
int no_elements(Context& c, const onnx::ValueInfoProto& declared) {
  Shape shape = {0};
  const onnx::TypeProto::Tensor& type = declared.type().tensor_type();
  for (const auto& d : type.shape().dim()) shape.push_back(std::max<int64_t>(d.dim_value(), 0));
  const bool typed = type.elem_type() != onnx::TensorProto::UNDEFINED;
  return c.add_empty(typed ? dtype_of(type.elem_type()) : ir::DType::f32, shape);
}

// The most trips of a Loop, by its first input.
int64_t trip_count(const Context& c) {
  if (!c.has_input(0)) return std::numeric_limits<int64_t>::max();
  if (!c.is_constant(c.input(0)))
    refuse(fmt::format("its trip count {} is known only when the model runs, expected a constant",
                       c.node().input(0)),
           kUnrolledHint);
  const Shape count = c.integers(c.input(0));
  if (count.size() != 1) refuse(fmt::format("its trip count has {} elements", count.size()));
  return count[0];
}

bool holds(const Context& c, int condition, const std::string& name, int64_t trip) {
  const std::optional<double> value = c.single(condition);
  if (!value)
    refuse(fmt::format("its condition {} for trip {} is known only when the model runs, expected a "
                       "constant",
                       name, trip),
           kUnrolledHint);
  return *value != 0;
}

}  // namespace

// The body's condition counts without a first one, too: ONNX's text ignores it then, ONNX Runtime
// does not.
//
// Inputs: the most trips, the first condition, carried values. The body: the trip's number, the
// condition, carried values -> the next condition, carried values, values of all trips together.
void Importer::add_loop(const onnx::NodeProto& n) {
  Trips trips(*this, n);
  const int64_t most = trip_count(c_);
  std::vector<int> carried;
  for (int i = 2; i < n.input_size(); ++i) carried.push_back(c_.input(i));
  const size_t count = carried.size();
  std::vector<std::vector<int>> gathered(trips.check_counts(count + 2, count + 1));
  bool goes = !c_.has_input(1) || holds(c_, c_.input(1), n.input(1), 0);
  while (goes && trips.number() < most) {
    std::vector<int> inputs = {c_.add_integers(ir::DType::i64, {}, {trips.number()}),
                               c_.add_numbers(ir::DType::boolean, {}, {1}, "condition")};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const std::vector<int> results = trips.add(inputs);
    const auto rest = results.begin() + 1 + static_cast<std::ptrdiff_t>(count);
    carried.assign(results.begin() + 1, rest);
    for (size_t i = 0; i < gathered.size(); ++i)
      gathered[i].push_back(rest[static_cast<std::ptrdiff_t>(i)]);
    if (trips.number() < most)
      goes = holds(c_, results[0], trips.body().output(0).name(), trips.number());
  }
  for (size_t i = 0; i < count; ++i) trips.bind(static_cast<int>(i), carried[i]);
  for (size_t i = 0; i < gathered.size(); ++i) {
    const int output = static_cast<int>(count + i);
    c_.bind(output, gathered[i].empty() ? no_elements(c_, trips.body().output(output + 1))
                                        : stacked_along(c_, gathered[i], 0, "trips"));
  }
}

}  // namespace assay::import
