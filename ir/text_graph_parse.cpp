#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "ir/element.h"
#include "ir/limits.h"
#include "ir/text_body.h"
#include "ir/text_graph.h"
#include "ir/text_tuple.h"
#include "support/quantity.h"

namespace assay::ir {
namespace {

using yaml::Entry;

constexpr size_t kMostVerified = 50;  // faults of verify that are reported

struct Out {
  std::string tensor;
  std::vector<std::string> axes;
};

Out parse_out(Scanner& s) {
  Out out{s.name(), {}};
  s.expect('[');
  if (s.peek() != ']') {
    do out.axes.push_back(s.name());
    while (s.accept(','));
  }
  s.expect(']');
  return out;
}

std::optional<Combiner> combiner_of(std::string_view name) {
  if (name == "none") return Combiner::none;
  if (name == "sum") return Combiner::sum;
  if (name == "product") return Combiner::product;
  if (name == "max") return Combiner::max;
  if (name == "min") return Combiner::min;
  return std::nullopt;
}

class GraphReader {  // invariant: names_[i] is the name of tensor i, ids_ its inverse
 public:
  explicit GraphReader(TextReader& reader) : r_(reader) {}

  Graph read(const yaml::Node& node) {
    g_.name = r_.text_or(node, "name", "graph");
    if (const yaml::Node* tensors = node.find("tensors"); tensors && r_.is_map(*tensors, "tensors"))
      for (const Entry& e : tensors->entries) read_tensor(e);
    if (const yaml::Node* inputs = r_.need(node, "inputs")) read_inputs(*inputs);
    if (const yaml::Node* types = node.find("input_types")) read_input_types(*types);
    if (const yaml::Node* constants = node.find("constants");
        constants && r_.is_list(*constants, "constants"))
      for (const yaml::Node& c : constants->items) read_constant(c);
    if (const yaml::Node* nodes = r_.need(node, "nodes"); nodes && r_.is_list(*nodes, "nodes"))
      for (const yaml::Node& n : nodes->items) read_node(n);
    if (const yaml::Node* outputs = r_.need(node, "outputs");
        outputs && r_.is_list(*outputs, "outputs"))
      for (const yaml::Node& o : outputs->items) add_id(o, g_.outputs);
    if (r_.ok()) check(node);
    return std::move(g_);
  }

 private:
  int add_tensor(const std::string& name, DType dtype, std::vector<int64_t> shape, int constant) {
    const int id = static_cast<int>(g_.tensors.size());
    g_.tensors.push_back({name, dtype, std::move(shape), constant});
    names_.push_back(name);
    ids_.emplace(name, id);
    return id;
  }

  void read_tensor(const Entry& e) {
    DType dtype = DType::f32;
    std::vector<int64_t> shape;
    int constant = -1;
    const yaml::Node* type = &e.value;
    if (e.value.kind == yaml::Node::Kind::map) {
      r_.is_map(e.value, "a tensor", {"type", "constant"});
      type = r_.need(e.value, "type");
      constant = static_cast<int>(r_.integer_or(e.value, "constant", 0, INT32_MAX, -1));
    }
    if (type) read_type(r_, *type, dtype, shape);
    add_tensor(e.key, dtype, std::move(shape), constant);
  }

  // A list of names, or a map that declares the tensors at once.
  void read_inputs(const yaml::Node& node) {
    if (node.kind != yaml::Node::Kind::map) {
      if (!r_.is_list(node, "inputs")) return;
      for (const yaml::Node& name : node.items) add_id(name, g_.inputs);
      return;
    }
    for (const Entry& e : node.entries) {
      if (ids_.contains(e.key)) {
        r_.fault(e.value, fmt::format("the tensor {} is declared twice", e.key));
        continue;
      }
      DType dtype = DType::f32;
      std::vector<int64_t> shape;
      read_type(r_, e.value, dtype, shape);
      g_.inputs.push_back(add_tensor(e.key, dtype, std::move(shape), -1));
    }
  }

  void read_input_types(const yaml::Node& node) {
    if (!r_.is_list(node, "input_types")) return;
    for (const yaml::Node& item : node.items) {
      const std::optional<std::string> name = r_.text(item);
      const std::optional<DType> type = name ? parse_dtype(*name) : std::nullopt;
      if (name && !type) r_.fault(item, fmt::format("{} is not an element type", *name));
      g_.input_types.push_back(type.value_or(DType::f32));
    }
    if (g_.input_types.size() != g_.inputs.size())
      r_.fault(node, fmt::format("{} input types are given, the graph has {} inputs",
                                 g_.input_types.size(), g_.inputs.size()));
  }

  void add_id(const yaml::Node& node, std::vector<int>& ids) {
    const std::optional<std::string> name = r_.text(node);
    if (!name) return;
    try {
      ids.push_back(find_name(Scanner(*name), 0, "tensor", *name, names_));
    } catch (const TextFault& f) {
      r_.fault(node, f);
    }
  }

  // {bytes, hash}: without its bytes; {f32: [1, 2, 3]}: by value.
  void read_constant(const yaml::Node& node) {
    g_.constants.emplace_back();
    if (!r_.is_map(node, "a constant",
                   {"bytes", "hash", "f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "u8",
                    "i32", "i64"}))
      return;
    for (const Entry& e : node.entries) {
      const std::optional<DType> dtype = parse_dtype(e.key);
      if (!dtype || !r_.is_list(e.value, "the values of a constant")) continue;
      std::vector<std::byte>& bytes = g_.constants.back().bytes;
      const size_t size = static_cast<size_t>(bytes_of(*dtype));
      bytes.resize(e.value.items.size() * size);
      for (size_t i = 0; i < e.value.items.size(); ++i)
        read_element(e.value.items[i], *dtype, bytes.data() + i * size);
    }
  }

  void read_element(const yaml::Node& node, DType dtype, std::byte* at) {
    if (is_integer(dtype)) {
      if (const auto value = r_.integer(node, INT64_MIN, INT64_MAX))
        store_integer(dtype, at, *value);
      return;
    }
    const std::optional<std::string> text = r_.text(node);
    if (!text) return;
    const Result<double> value = parse_number(*text);
    if (value.ok())
      store_element(dtype, at, *value);
    else
      r_.fault(node, fmt::format("found {}, expected a number", *text));
  }

  void read_node(const yaml::Node& node) {
    if (!r_.is_map(node, "a node",
                   {"name", "op", "out", "dtype", "axes", "combine", "scan", "scatter", "sort",
                    "tuple", "reads", "body"}))
      return;
    const yaml::Node* out_node = r_.need(node, "out");
    const yaml::Node* axes = r_.need(node, "axes");
    const yaml::Node* tuple = node.find("tuple");
    const yaml::Node* body = tuple ? nullptr : r_.need(node, "body");
    if (!out_node || !axes || !(body || tuple)) return;
    if (const yaml::Node* both = tuple ? node.find("body") : nullptr)
      r_.fault(*both, "a tuple reduction has no body", "what it computes is its step");
    const std::optional<Out> out = r_.expression(*out_node, parse_out);
    if (!out || !r_.is_map(*axes, "axes")) return;
    Node n;
    n.name = r_.text_or(node, "name", out->tensor);
    n.op = r_.text_or(node, "op", "custom");
    if (!read_axes(*out, *out_node, *axes, n)) return;
    n.kind = read_kind(r_, node, axis_names(n));
    read_combine(node, out->axes.size(), n);
    if (auto* t = std::get_if<TupleReduction>(&n.kind))
      t->over = static_cast<int>(n.axes.size() - out->axes.size());
    read_body(node, tuple ? *tuple : *body, n);
    n.output = output_id(node, *out, n);
    positions_.emplace(n.name, &node);
    g_.nodes.push_back(std::move(n));
  }

  // First those of the output, in its order; the others follow in the order of the map.
  bool read_axes(const Out& out, const yaml::Node& out_node, const yaml::Node& axes, Node& n) {
    std::map<std::string, int64_t> extents;
    std::vector<std::string> keys;
    for (const Entry& e : axes.entries) {
      extents[e.key] = r_.integer(e.value, 1, kMaxExtent).value_or(1);
      keys.push_back(e.key);
    }
    for (const std::string& name : out.axes) {
      try {
        find_name(Scanner(name), 0, "axis", name, keys);
      } catch (const TextFault& f) {
        r_.fault(out_node, f.message, f.hint);
        return false;
      }
      n.axes.push_back({name, extents[name]});
    }
    for (const std::string& key : keys)
      if (std::find(out.axes.begin(), out.axes.end(), key) == out.axes.end())
        n.axes.push_back({key, extents[key]});
    return true;
  }

  void read_combine(const yaml::Node& node, size_t spatial, Node& n) {
    const bool sums =
        is_expression(n) ? n.axes.size() > spatial : std::holds_alternative<Scan>(n.kind);
    n.combine = sums ? Combiner::sum : Combiner::none;
    const yaml::Node* combine = node.find("combine");
    if (!combine) return;
    const std::optional<Combiner> found = combiner_of(r_.text_or(node, "combine", ""));
    if (found)
      n.combine = *found;
    else
      r_.fault(*combine, "unknown combiner", "one of sum, product, max, min, none");
  }

  void read_body(const yaml::Node& node, const yaml::Node& body, Node& n) {
    const std::vector<std::string> axes = axis_names(n);
    const BodyNames names{axes, names_};
    if (const yaml::Node* reads = node.find("reads"); reads && r_.is_list(*reads, "reads"))
      for (const yaml::Node& item : reads->items)
        if (auto read =
                r_.expression(item, [&](Scanner& s) { return parse_read(s, names, n.reads); }))
          n.reads.push_back(std::move(*read));
    if (std::holds_alternative<TupleReduction>(n.kind))
      read_tuple(r_, body, names, n);
    else if (auto parsed =
                 r_.expression(body, [&](Scanner& s) { return parse_body(s, names, n.reads); }))
      n.body = std::move(*parsed);
  }

  int output_id(const yaml::Node& node, const Out& out, const Node& n) {
    if (const auto found = ids_.find(out.tensor); found != ids_.end()) return found->second;
    std::vector<int64_t> shape;
    for (size_t d = 0; d < out.axes.size(); ++d) shape.push_back(n.axes[d].extent);
    const std::string dtype = r_.text_or(node, "dtype", "f32");
    const std::optional<DType> parsed = parse_dtype(dtype);
    if (!parsed)
      r_.fault(node, fmt::format("unknown dtype {}", dtype),
               "f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, u8, i32, i64 or bool");
    return add_tensor(out.tensor, parsed.value_or(DType::f32), std::move(shape), -1);
  }

  // A message of verify begins with its node's name, which gives it a place.
  void check(const yaml::Node& graph) {
    for (const Diag& d : verify(g_)) {
      if (r_.diags().size() >= kMostVerified) return;
      const yaml::Node* at = &graph;
      for (const auto& [name, position] : positions_)
        if (d.message.starts_with("node " + name + ": ")) at = position;
      r_.fault(*at, d.message, d.hint);
    }
  }

  TextReader& r_;
  Graph g_;
  std::vector<std::string> names_;
  std::map<std::string, int> ids_;
  std::map<std::string, const yaml::Node*> positions_;
};

struct Type {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

// `f32 1x3x224x224`. Extents are not scanned as tokens, since x224 would be a name.
Type parse_type(const std::string& text) {
  const size_t blank = text.find(' ');
  Scanner s(text);
  const std::optional<DType> dtype = parse_dtype(std::string_view(text).substr(0, blank));
  if (!dtype)
    s.fail(
        "unknown dtype",
        "f32 128x64; the dtype is f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, u8, i32, i64 or bool");
  Type type{*dtype, {}};
  if (blank == std::string::npos) return type;
  const char* at = text.data() + blank + 1;
  const char* end = text.data() + text.size();
  while (true) {
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    const size_t place = static_cast<size_t>(at - text.data());
    if (error != std::errc() || extent < 1 || extent > kMaxExtent)
      s.fail_at(place, "expected an extent from 1 to 2^40", "a shape is written 128x64");
    type.shape.push_back(extent);
    if (next == end) break;
    if (*next != 'x')
      s.fail_at(static_cast<size_t>(next - text.data()), "expected x between extents",
                "a shape is written 128x64");
    at = next + 1;
  }
  if (!shape_fits(type.shape)) s.fail("the tensor is too large", "at most 2^56 elements");
  return type;
}

}  // namespace

bool read_type(TextReader& reader, const yaml::Node& node, DType& dtype,
               std::vector<int64_t>& shape) {
  const std::optional<std::string> text = reader.text(node);
  if (!text) return false;
  try {
    Type type = parse_type(*text);
    dtype = type.dtype;
    shape = std::move(type.shape);
    return true;
  } catch (const TextFault& f) {
    reader.fault(node, f);
    return false;
  }
}

Graph read_graph(TextReader& reader, const yaml::Node& node, bool is_document) {
  const std::string_view schema = is_document ? "schema" : "name";
  if (!reader.is_map(
          node, "a graph",
          {"name", "tensors", "inputs", "input_types", "outputs", "constants", "nodes", schema}))
    return {};
  return GraphReader(reader).read(node);
}

Result<Graph> parse_graph(std::string_view text, std::string_view file) {
  Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc.ok()) return doc.diags();
  TextReader reader(*doc);
  if (!reader.has_schema("assay/graph/1")) return reader.diags();
  Graph g = read_graph(reader, doc->root, true);
  if (!reader.ok()) return reader.diags();
  return g;
}

}  // namespace assay::ir
