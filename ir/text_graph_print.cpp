#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/element.h"
#include "ir/text_body.h"
#include "ir/text_graph.h"
#include "ir/text_index.h"
#include "support/hash.h"
#include "support/quantity.h"
#include "support/yaml.h"

namespace assay::ir {
namespace {

using yaml::quote;

constexpr int64_t kMostInlined = 16;  // elements of a constant that is printed by value

std::string name_list(const std::vector<int>& ids, const std::vector<std::string>& names) {
  std::string text;
  for (int id : ids) text += (text.empty() ? "" : ", ") + quote(names[static_cast<size_t>(id)]);
  return "[" + text + "]";
}

// The type a constant's bytes are read as: that of the first tensor it belongs to.
const Tensor* owner_of(const Graph& g, size_t constant) {
  const auto found = std::find_if(g.tensors.begin(), g.tensors.end(), [&](const Tensor& t) {
    return t.constant == static_cast<int>(constant);
  });
  return found == g.tensors.end() ? nullptr : &*found;
}

// By value when that gives the bytes back exactly.
std::string values_of(DType dtype, const std::vector<std::byte>& bytes) {
  std::string text;
  const size_t size = static_cast<size_t>(bytes_of(dtype));
  for (size_t i = 0; i < bytes.size(); i += size) {
    const double value = load_element(dtype, bytes.data() + i);
    if (!std::isfinite(value)) return "";
    text += i ? ", " : "";
    text += is_integer(dtype) ? fmt::format("{}", load_integer(dtype, bytes.data() + i))
                              : print_number(value);
  }
  return text;
}

std::string spell_constant(const Graph& g, size_t i) {
  const std::vector<std::byte>& bytes = g.constants[i].bytes;
  if (bytes.empty()) return "{bytes: 0}";
  if (const Tensor* t = owner_of(g, i); t && elements(*t) <= kMostInlined) {
    const bool fits =
        bytes.size() == static_cast<size_t>(elements(*t)) * static_cast<size_t>(bytes_of(t->dtype));
    if (const std::string values =
            fits && t->dtype != DType::boolean ? values_of(t->dtype, bytes) : "";
        !values.empty())
      return fmt::format("{{{}: [{}]}}", ir::name_of(t->dtype), values);
  }
  const char* data = reinterpret_cast<const char*>(bytes.data());
  return fmt::format("{{bytes: {}, hash: {}}}", bytes.size(), hash_hex({data, bytes.size()}));
}

std::string spell_out(const Graph& g, const Node& n, const std::vector<std::string>& axes) {
  std::string text;
  for (size_t d = 0; d < static_cast<size_t>(spatial_count(g, n)) && d < axes.size(); ++d)
    text += (d ? ", " : "") + spell_name(axes[d]);
  return fmt::format("{}[{}]", spell_name(g.tensors[static_cast<size_t>(n.output)].name), text);
}

std::string spell_node(const Graph& g, const Node& n, const std::vector<std::string>& tensors) {
  const std::vector<std::string> axes = axis_names(n);
  const BodyNames names{axes, tensors};
  std::string extents, reads;
  for (const Axis& axis : n.axes)
    extents += fmt::format("{}{}: {}", extents.empty() ? "" : ", ", quote(axis.name), axis.extent);
  const bool tuple = std::holds_alternative<TupleReduction>(n.kind);
  const bool follow = !tuple && reads_follow_body(n);
  for (const Read& r : n.reads)
    if (!follow) reads += (reads.empty() ? "" : ", ") + quote(spell_read(r, names));
  const std::string body = spell_body(n.body, axes, [&](int i) {
    return follow ? spell_read(n.reads[static_cast<size_t>(i)], names, n.reads)
                  : fmt::format("${}", i);
  });
  std::string text = fmt::format("{{name: {}, op: {}, out: {}, axes: {{{}}}", quote(n.name),
                                 quote(n.op), quote(spell_out(g, n, axes)), extents);
  if (n.combine != Combiner::none) text += fmt::format(", combine: {}", name_of(n.combine));
  text += spell_kind(n);
  if (!follow) text += fmt::format(", reads: [{}]", reads);
  return text + (tuple ? "}" : fmt::format(", body: {}}}", quote(body)));
}

}  // namespace

std::string_view name_of(Combiner c) {
  switch (c) {
    case Combiner::none:
      return "none";
    case Combiner::sum:
      return "sum";
    case Combiner::product:
      return "product";
    case Combiner::max:
      return "max";
    case Combiner::min:
      return "min";
  }
  return "none";
}

std::vector<std::string> axis_names(const Node& n) {
  std::vector<std::string> names;
  for (const Axis& axis : n.axes) names.push_back(axis.name);
  return names;
}

std::vector<std::string> tensor_names(const Graph& g) {
  std::vector<std::string> names;
  for (const Tensor& t : g.tensors) names.push_back(t.name);
  return names;
}

std::string spell_type(DType dtype, std::span<const int64_t> shape) {
  std::string text(name_of(dtype));
  if (!shape.empty()) text += fmt::format(" {}", fmt::join(shape, "x"));
  return text;
}

std::string print_graph_fields(const Graph& g, int indent) {
  const std::string pad(static_cast<size_t>(indent), ' ');
  const std::vector<std::string> names = tensor_names(g);
  std::string text = fmt::format("{}name: {}\n", pad, quote(g.name));
  text += pad + (g.tensors.empty() ? "tensors: {}\n" : "tensors:\n");
  for (const Tensor& t : g.tensors) {
    const std::string type = spell_type(t.dtype, t.shape);
    text += fmt::format(
        "{}  {}: {}\n", pad, quote(t.name),
        t.constant < 0 ? type : fmt::format("{{type: {}, constant: {}}}", type, t.constant));
  }
  text += fmt::format("{}inputs: {}\n{}outputs: {}\n", pad, name_list(g.inputs, names), pad,
                      name_list(g.outputs, names));
  if (!g.input_types.empty()) {
    text += pad + "input_types: [";
    for (size_t i = 0; i < g.input_types.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", ir::name_of(g.input_types[i]));
    text += "]\n";
  }
  if (!g.constants.empty()) text += pad + "constants:\n";
  for (size_t i = 0; i < g.constants.size(); ++i)
    text += fmt::format("{}  - {}\n", pad, spell_constant(g, i));
  text += pad + (g.nodes.empty() ? "nodes: []\n" : "nodes:\n");
  for (const Node& n : g.nodes) text += fmt::format("{}  - {}\n", pad, spell_node(g, n, names));
  return text;
}

std::string print_graph(const Graph& g) {
  return "schema: assay/graph/1\n" + print_graph_fields(g, 0);
}

std::string print_node(const Graph& g, const Node& n) {
  const std::vector<std::string> axes = axis_names(n), tensors = tensor_names(g);
  const size_t rank = static_cast<size_t>(spatial_count(g, n));
  const auto spell = [&](int i) {
    return spell_read(n.reads[static_cast<size_t>(i)], {axes, tensors}, n.reads);
  };
  std::string text = spell_out(g, n, axes) + " = ";
  if (!is_expression(n)) return text + print_kind(n, axes, spell);
  if (n.combine != Combiner::none)
    text += fmt::format(
        "{}({}) ", name_of(n.combine),
        fmt::join(axes.begin() + static_cast<std::ptrdiff_t>(std::min(rank, axes.size())),
                  axes.end(), ", "));
  return text + spell_body(n.body, axes, spell);
}

}  // namespace assay::ir
