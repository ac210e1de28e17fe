// The graph's inputs and their shapes, with the values that the options give to open dimensions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/import/importer.h"
#include "support/edit_distance.h"

namespace assay::import {
namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

const onnx::TensorShapeProto& shape_in(const onnx::ValueInfoProto& v) {
  return v.type().tensor_type().shape();
}

// Exporters write -1 and 0 where an extent is open.
bool is_fixed(const Dimension& d) { return d.has_dim_value() && d.dim_value() > 0; }

// As `--shape` takes it, with names and ? for what is open: 1x3xHx?
std::string pattern_of(const onnx::ValueInfoProto& v) {
  std::vector<std::string> words;
  for (const Dimension& d : shape_in(v).dim())
    words.push_back(is_fixed(d)             ? std::to_string(d.dim_value())
                    : d.dim_param().empty() ? "?"
                                            : d.dim_param());
  return fmt::format("{}", fmt::join(words, "x"));
}

std::string shape_hint(const onnx::ValueInfoProto& v) {
  return fmt::format("--shape {}={} with a number for each open extent", v.name(), pattern_of(v));
}

std::string known_names(const std::string& name, const std::set<std::string>& all,
                        const std::string& none) {
  const std::vector<std::string> known(all.begin(), all.end());
  const std::string near = nearest(name, known);
  if (!near.empty()) return fmt::format("did you mean {}?", near);
  return known.empty() ? none : fmt::format("there are: {}", fmt::join(known, ", "));
}

}  // namespace

void Importer::read_inputs() {
  for (const onnx::ValueInfoProto& v : graph_.input())
    if (!initialisers_.contains(v.name())) attempt([&] { add_input(v); }, v.name());
  check_dims();
  check_shapes();
}

// A value for a dimension that no input has is a misspelt name.
void Importer::check_dims() {
  std::set<std::string> symbolic;
  for (const onnx::ValueInfoProto& v : graph_.input())
    for (const Dimension& d : shape_in(v).dim())
      if (!d.dim_param().empty()) symbolic.insert(d.dim_param());
  for (const auto& [name, extent] : options_.dims)
    if (!symbolic.contains(name))
      report(fmt::format("no input has a dimension \"{}\"", name),
             known_names(name, symbolic, "all extents are fixed, or have no name"));
}

void Importer::check_shapes() {
  std::set<std::string> inputs;
  for (const onnx::ValueInfoProto& v : graph_.input())
    if (!initialisers_.contains(v.name())) inputs.insert(v.name());
  for (const auto& [name, shape] : options_.shapes)
    if (!inputs.contains(name))
      report(fmt::format("there is no input {}, which --shape names", name),
             initialisers_.contains(name) ? "it is a constant"
                                          : known_names(name, inputs, "the model has no inputs"));
}

// Of one dimension: what the model fixes, --shape, --dim.
int64_t Importer::extent_of(const onnx::ValueInfoProto& v, int dim) const {
  const Dimension& d = shape_in(v).dim(dim);
  const auto shape = options_.shapes.find(v.name());
  const auto named = options_.dims.find(d.dim_param());
  const bool has_name = !d.dim_param().empty(),
             has_value = has_name && named != options_.dims.end();
  if (shape != options_.shapes.end()) {
    const int64_t extent = shape->second[static_cast<size_t>(dim)];
    if (is_fixed(d) && d.dim_value() != extent)
      refuse(fmt::format("--shape gives {} for its dimension {}, the model fixes {}", extent, dim,
                         d.dim_value()),
             fmt::format("the model's shape is {}", pattern_of(v)));
    if (has_value && named->second != extent)
      refuse(fmt::format("--shape gives {} for its dimension {}, --dim {}={}", extent, dim,
                         named->first, named->second));
    return extent;
  }
  if (is_fixed(d)) return d.dim_value();
  if (has_value) return named->second;
  if (has_name)
    refuse(fmt::format("it has the dimension \"{}\" without a fixed extent", d.dim_param()),
           fmt::format("--dim {}=1 gives it one, or {}", d.dim_param(), shape_hint(v)));
  refuse(fmt::format("its dimension {} has neither an extent nor a name", dim), shape_hint(v));
}

Shape Importer::shape_of(const onnx::ValueInfoProto& v) const {
  const auto given = options_.shapes.find(v.name());
  if (!v.type().tensor_type().has_shape()) {
    if (given != options_.shapes.end()) return given->second;
    refuse("the input has no shape",
           fmt::format("--shape {}=1x3x224x224 gives it this one", v.name()));
  }
  const int rank = shape_in(v).dim_size();
  if (given != options_.shapes.end() && given->second.size() != static_cast<size_t>(rank))
    refuse(fmt::format("--shape gives {} dimensions, the model has {}", given->second.size(), rank),
           fmt::format("the model's shape is {}", rank == 0 ? "that of a number" : pattern_of(v)));
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(extent_of(v, i));
  return shape;
}

void Importer::add_input(const onnx::ValueInfoProto& v) {
  if (c_.value(v.name()) || v.name().empty())
    refuse("an input without a name, or of a name that is taken");
  if (!v.type().has_tensor_type()) refuse("the input is not a tensor with a shape");
  ir::Tensor t{c_.unique(v.name()), dtype_of(v.type().tensor_type().elem_type()), shape_of(v), -1};
  c_.check_shape(t.shape);
  names_.insert(v.name());
  c_.define(v.name(), static_cast<int>(c_.graph.tensors.size()));
  c_.graph.inputs.push_back(static_cast<int>(c_.graph.tensors.size()));
  c_.graph.tensors.push_back(std::move(t));
}

}  // namespace assay::import
