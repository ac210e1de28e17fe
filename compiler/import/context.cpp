#include "compiler/import/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/element.h"
#include "ir/limits.h"

namespace assay::import {

using ir::DType;

void refuse(std::string message, std::string hint) {
  throw Refusal{std::move(message), std::move(hint)};
}

void Context::enter(const onnx::NodeProto& node) {
  node_ = &node;
  first_new_tensor_ = graph.tensors.size();
  base_ = node.name().empty() ? node.op_type() : node.name();
  for (int i = node.output_size(); i-- > 0;)
    if (!node.output(i).empty()) base_ = node.output(i);
}

bool Context::has_input(int i) const { return i < node_->input_size() && !node_->input(i).empty(); }

int Context::input(int i) const {
  if (!has_input(i)) refuse(fmt::format("input {} is missing, it has {}", i, node_->input_size()));
  const std::optional<int> id = value(node_->input(i));
  if (!id) refuse(fmt::format("input {} is not defined", node_->input(i)));
  return *id;
}

bool Context::folds() const {
  return std::all_of(node_->input().begin(), node_->input().end(), [&](const std::string& name) {
    return name.empty() || is_constant(*value(name));
  });
}

const std::vector<std::byte>& Context::bytes(int id) const {
  if (!is_constant(id))
    refuse(fmt::format("{} must be constant", tensor(id).name),
           "its value is needed to know shapes or indices");
  return graph.constants[static_cast<size_t>(tensor(id).constant)].bytes;
}

Shape Context::integers(int id) const {
  const std::vector<std::byte>& data = bytes(id);
  const DType t = tensor(id).dtype;
  if (!ir::is_integer(t))
    refuse(fmt::format("{} must hold integers, it holds {}", tensor(id).name, ir::name_of(t)));
  const size_t size = static_cast<size_t>(ir::bytes_of(t));
  Shape values(data.size() / size);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = ir::load_integer(t, data.data() + i * size);
  return values;
}

std::vector<double> Context::numbers(int id) const {
  return ir::doubles_of(tensor(id).dtype, bytes(id));
}

std::optional<double> Context::single(int id) const {
  if (!is_constant(id) || ir::elements(tensor(id)) != 1) return std::nullopt;
  return ir::load_element(tensor(id).dtype, bytes(id).data());
}

void Context::check_shape(const Shape& shape) const {
  for (int64_t extent : shape)
    if (extent < 1) refuse(fmt::format("the shape [{}] has no elements", fmt::join(shape, ", ")));
  if (!ir::shape_fits(shape))
    refuse(fmt::format("the shape [{}] is too large", fmt::join(shape, ", ")));
}

void Context::check_constant_size(DType dtype, const Shape& shape) const {
  check_shape(shape);
  double size = ir::bytes_of(dtype);
  for (int64_t extent : shape) size *= static_cast<double>(extent);
  if (size + static_cast<double>(constant_bytes_) >
      static_cast<double>(options_.max_constant_bytes))
    refuse(fmt::format("its constants of shape [{}] exceed the limit of {} bytes in all",
                       fmt::join(shape, ", "), options_.max_constant_bytes));
}

int Context::add_constant(DType dtype, Shape shape, std::vector<std::byte> data,
                          std::string suffix) {
  if (is_empty(shape)) return add_empty(dtype, std::move(shape));
  check_constant_size(dtype, shape);
  graph.tensors.push_back(
      {unique(base_ + (suffix.empty() ? "" : "." + suffix)), dtype, std::move(shape), -1});
  const int id = static_cast<int>(graph.tensors.size()) - 1;
  make_constant(id, std::move(data));
  return id;
}

// No tensor of a graph has no elements, so this is a constant that nothing may read.
int Context::add_empty(DType dtype, Shape shape) {
  for (int64_t extent : shape)
    if (extent < 0 || extent > ir::kMaxExtent)
      refuse(fmt::format("the shape [{}] is out of bounds", fmt::join(shape, ", ")));
  graph.tensors.push_back({unique(base_ + ".empty"), dtype, std::move(shape), -1});
  const int id = static_cast<int>(graph.tensors.size()) - 1;
  make_constant(id, {});
  return id;
}

void Context::make_constant(int id, std::vector<std::byte> data) {
  constant_bytes_ += static_cast<int64_t>(data.size());
  graph.tensors[static_cast<size_t>(id)].constant = static_cast<int>(graph.constants.size());
  graph.constants.push_back({std::move(data)});
}

int Context::add_numbers(DType dtype, Shape shape, const std::vector<double>& values,
                         std::string suffix) {
  return add_constant(dtype, std::move(shape), ir::bytes_of_doubles(dtype, values),
                      std::move(suffix));
}

int Context::add_integers(DType dtype, Shape shape, const std::vector<int64_t>& values) {
  const size_t size = static_cast<size_t>(ir::bytes_of(dtype));
  std::vector<std::byte> data(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i)
    ir::store_integer(dtype, data.data() + i * size, values[i]);
  return add_constant(dtype, std::move(shape), std::move(data));
}

bool is_empty(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

namespace {

Shape extents_of(const std::vector<ir::Axis>& axes) {
  Shape extents;
  for (const ir::Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

// Over no points a combiner gives its neutral element.
void drop_empty_reduction(Expression& e) {
  if (!is_empty(extents_of(e.reduce))) return;
  e.body = ir::number(ir::identity_of(e.combine));
  e.combine = ir::Combiner::none;
  e.reduce.clear();
  e.reads.clear();
}

void check_reads(const Context& c, const Expression& e) {
  for (const ir::Read& r : e.reads)
    if (is_empty(c.shape(r.tensor)))
      refuse(fmt::format("it reads {}, which has no elements", c.tensor(r.tensor).name));
}

}  // namespace

// What has no elements is no node but a constant.
int Context::emit(Expression e) {
  ir::Node n;
  Shape shape = extents_of(e.spatial);
  if (!e.dtype) e.dtype = e.reads.empty() ? DType::f32 : tensor(e.reads[0].tensor).dtype;
  if (is_empty(shape)) return add_empty(*e.dtype, std::move(shape));
  drop_empty_reduction(e);
  check_reads(*this, e);
  Shape points = shape;
  for (const ir::Axis& axis : e.reduce) points.push_back(axis.extent);
  check_shape(points);
  const std::string suffix = e.suffix.empty() ? "" : "." + e.suffix;
  n.name = unique((node_->name().empty() ? base_ : node_->name()) + suffix + "()");
  n.op = std::move(e.op);
  n.axes = std::move(e.spatial);
  n.axes.insert(n.axes.end(), e.reduce.begin(), e.reduce.end());
  n.reads = std::move(e.reads);
  n.body = std::move(e.body);
  n.combine = e.combine;
  n.kind = std::move(e.kind);
  n.output = static_cast<int>(graph.tensors.size());
  graph.tensors.push_back(
      {unique(base_ + "." + (e.suffix.empty() ? "out" : e.suffix)), *e.dtype, shape, -1});
  graph.nodes.push_back(std::move(n));
  return graph.nodes.back().output;
}

void Context::bind(int output, int id) {
  if (output >= node_->output_size() || node_->output(output).empty()) return;
  const std::string& name = node_->output(output);
  if (value(name)) refuse(fmt::format("output {} is defined twice", name));
  if (static_cast<size_t>(id) >= first_new_tensor_) rename(id, name);
  define(name, id);
}

std::vector<int> Context::values() const {
  std::vector<int> out;
  for (const auto& [name, tensor] : values_) out.push_back(tensor);
  return out;
}

std::optional<int> Context::value(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

void Context::rename(int id, const std::string& name) {
  graph.tensors[static_cast<size_t>(id)].name = unique(name);
}

// Node names and tensor names are separate: a mark, which is cut off the result, tells them in
// names_.
std::string Context::unique(const std::string& name) {
  const bool of_node = name.ends_with("()");
  const std::string mark = of_node ? "()" : "", stem = name.substr(0, name.size() - mark.size());
  int& next = names_.try_emplace(name, 1).first->second;
  std::string candidate = stem;
  while (next > 1 &&
         !names_.try_emplace((candidate = fmt::format("{}.{}", stem, next)) + mark, 1).second)
    ++next;
  ++next;
  return candidate;
}

}  // namespace assay::import
