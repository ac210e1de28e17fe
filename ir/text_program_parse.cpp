#include <fmt/format.h>

#include <algorithm>

#include "ir/limits.h"
#include "ir/producers.h"
#include "ir/text_graph.h"
#include "ir/text_layout.h"
#include "ir/text_program.h"

namespace assay::ir {
namespace {

constexpr int64_t kMaxSwitch = 1 << 20;  // vector widths, stages, workers

// Has the node the keys of a program? A fault otherwise.
bool is_program(TextReader& reader, const yaml::Node& node, std::string_view schema) {
  return reader.is_map(
      node, "a program",
      {"name", "graph", "edges", "layouts", "tiles", "vector", "threads", "staging", "prefetch",
       "pipeline_stages", "split_k", "workers", "instruction", "producers", schema});
}

class ProgramReader {  // invariant: axes_ and tensors_ name what p_.graph has
 public:
  // `inner`: of a producer, which is verified with the whole.
  explicit ProgramReader(TextReader& reader, bool inner = false) : r_(reader), inner_(inner) {}

  Program read(const yaml::Node& node) {
    p_.name = r_.text_or(node, "name", "program");
    if (const yaml::Node* graph = r_.need(node, "graph")) p_.graph = read_graph(r_, *graph, false);
    if (!r_.ok()) return std::move(p_);
    if (p_.graph.nodes.empty()) {
      r_.fault(node, "the program's graph has no node");
      return std::move(p_);
    }
    axes_ = axis_names(p_.graph.nodes[0]);
    tensors_ = tensor_names(p_.graph);
    read_edges(node);
    read_layouts(node);
    read_tiles(node);
    read_threads(node);
    read_staging(node);
    read_switches(node);
    read_producers(node);
    if (r_.ok() && !inner_) check(node);
    return std::move(p_);
  }

 private:
  // Faults of the program itself, then of what is between it and its producers.
  void check(const yaml::Node& node) {
    Program own = p_;
    own.producers.clear();
    if (!p_.producers.empty() && !own.graph.outputs.empty()) own.graph.outputs.resize(1);
    for (const Diag& d : verify(own)) r_.fault(node, d.message, d.hint);
    if (const yaml::Node* producers = node.find("producers"); producers && r_.ok())
      for (const Diag& d : producer_faults(p_)) r_.fault(*producers, d.message, d.hint);
  }

  std::optional<int> id(const yaml::Node& node, std::string_view what,
                        const std::vector<std::string>& names) {
    const std::optional<std::string> name = r_.text(node);
    if (!name) return std::nullopt;
    try {
      return find_name(Scanner(*name), 0, what, *name, names);
    } catch (const TextFault& f) {
      r_.fault(node, f);
      return std::nullopt;
    }
  }

  std::optional<int> key_id(const yaml::Entry& e, std::string_view what,
                            const std::vector<std::string>& names) {
    yaml::Node key;
    key.scalar = e.key;
    key.line = e.line;
    key.col = e.col;
    return id(key, what, names);
  }

  const yaml::Node* list(const yaml::Node& node, std::string_view key) {
    const yaml::Node* found = node.find(key);
    return found && r_.is_list(*found, key) ? found : nullptr;
  }

  int small(const yaml::Node& map, std::string_view key, int64_t low, int64_t high, int otherwise) {
    return static_cast<int>(r_.integer_or(map, key, low, high, otherwise));
  }

  void read_edges(const yaml::Node& node) {
    const yaml::Node* edges = list(node, "edges");
    if (!edges) return;
    const int64_t last = static_cast<int64_t>(p_.graph.nodes.size()) - 1;
    for (const yaml::Node& e : edges->items) {
      if (!r_.is_map(e, "an edge", {"from", "to", "level"}) || !r_.need(e, "from") ||
          !r_.need(e, "to"))
        continue;
      p_.edges.push_back({small(e, "from", 0, last, 0), small(e, "to", 0, last, 0),
                          r_.text_or(e, "level", "registers")});
      if (p_.edges.back().level != "registers")
        r_.fault(*e.find("level"),
                 "level: found '" + p_.edges.back().level +
                     "', expected registers: tiles pass between nodes there only");
    }
  }

  void read_layouts(const yaml::Node& node) {
    for (const Tensor& t : p_.graph.tensors)
      p_.layouts.push_back(row_major(static_cast<int>(t.shape.size())));
    const yaml::Node* layouts = node.find("layouts");
    if (!layouts || !r_.is_map(*layouts, "layouts")) return;
    for (const yaml::Entry& e : layouts->entries) {
      const std::optional<int> tensor = key_id(e, "tensor", tensors_);
      auto layout = r_.expression(e.value, [](Scanner& s) { return parse_layout(s); });
      if (!tensor || !layout) continue;
      check_layout(e.value, *layout, *tensor);
      p_.layouts[static_cast<size_t>(*tensor)] = std::move(*layout);
    }
  }

  void check_layout(const yaml::Node& at, const Layout& layout, int tensor) {
    const std::string fault =
        layout_fault(layout, p_.graph.tensors[static_cast<size_t>(tensor)].shape);
    if (!fault.empty()) r_.fault(at, fault);
  }

  void read_tiles(const yaml::Node& node) {
    const yaml::Node* tiles = r_.need(node, "tiles");
    if (!tiles || !r_.is_list(*tiles, "tiles")) return;
    std::vector<int64_t> enclosing;
    for (const Axis& axis : p_.graph.nodes[0].axes) enclosing.push_back(axis.extent);
    for (const yaml::Node& t : tiles->items) {
      TileLevel tile;
      tile.extent = enclosing;
      if (!r_.is_map(t, "a tile", {"memory", "extent", "order"})) continue;
      if (r_.need(t, "memory")) tile.memory = r_.text_or(t, "memory", "");
      if (const yaml::Node* extent = t.find("extent"))
        read_per_axis(*extent, kMaxExtent, tile.extent);
      if (const yaml::Node* order = list(t, "order"))
        for (const yaml::Node& axis : order->items)
          if (const std::optional<int> a = id(axis, "axis", axes_)) tile.order.push_back(*a);
      enclosing = tile.extent;
      p_.tiles.push_back(std::move(tile));
    }
  }

  template <class T>
  void read_per_axis(const yaml::Node& node, int64_t high, std::vector<T>& values) {
    if (!r_.is_map(node, "values per axis")) return;
    for (const yaml::Entry& e : node.entries)
      if (const std::optional<int> axis = key_id(e, "axis", axes_))
        if (const std::optional<int64_t> value = r_.integer(e.value, 1, high))
          values[static_cast<size_t>(*axis)] = static_cast<T>(*value);
  }

  std::optional<TaskMapping> mapping(const yaml::Node& node) {
    const std::optional<std::string> text = r_.text(node);
    if (!text) return std::nullopt;
    Result<TaskMapping> m = parse_mapping(*text);
    if (m) return std::move(*m);
    for (const Diag& d : m.diags()) r_.fault(node, d.message, d.hint);
    return std::nullopt;
  }

  void read_threads(const yaml::Node& node) {
    const yaml::Node* threads = node.find("threads");
    if (!threads || !r_.is_map(*threads, "threads", {"axes", "tasks", "widths"})) return;
    ThreadMapping out;
    const yaml::Node* axes = r_.need(*threads, "axes");
    if (axes && r_.is_list(*axes, "axes")) {
      if (axes->items.size() != 2)
        r_.fault(*axes, "axes: expected the rows' axis and the columns' axis of `tasks`");
      else
        for (int i = 0; i < 2; ++i)
          (i == 0 ? out.row_axis : out.column_axis) =
              id(axes->items[static_cast<size_t>(i)], "axis", axes_).value_or(-1);
    }
    if (const yaml::Node* tasks = r_.need(*threads, "tasks"))
      out.tasks = mapping(*tasks).value_or(TaskMapping{});
    out.widths.assign(tensors_.size(), 1);
    if (const yaml::Node* widths = threads->find("widths"); widths && r_.is_map(*widths, "widths"))
      for (const yaml::Entry& e : widths->entries)
        if (const std::optional<int> t = key_id(e, "tensor", tensors_))
          if (const std::optional<int64_t> w = r_.integer(e.value, 1, kMaxSwitch))
            out.widths[static_cast<size_t>(*t)] = static_cast<int>(*w);
    p_.threads = std::move(out);
  }

  void read_staging(const yaml::Node& node) {
    const yaml::Node* staging = list(node, "staging");
    if (!staging) return;
    for (const yaml::Node& s : staging->items) {
      if (!r_.is_map(s, "a staging", {"read", "level", "layout", "tasks", "width"})) continue;
      const yaml::Node* layout = r_.need(s, "layout");
      if (!layout || !r_.need(s, "read") || !r_.need(s, "level")) continue;
      auto parsed = r_.expression(*layout, [](Scanner& scanner) { return parse_layout(scanner); });
      Staging staged;
      staged.read =
          small(s, "read", 0, static_cast<int64_t>(p_.graph.nodes[0].reads.size()) - 1, 0);
      staged.level =
          small(s, "level", 0, std::max<int64_t>(0, static_cast<int64_t>(p_.tiles.size()) - 1), 0);
      const std::vector<Read>& reads = p_.graph.nodes[0].reads;
      if (parsed && !reads.empty())
        check_layout(*layout, *parsed, reads[static_cast<size_t>(staged.read)].tensor);
      if (parsed) staged.layout = std::move(*parsed);
      if (const yaml::Node* tasks = s.find("tasks")) staged.tasks = mapping(*tasks);
      staged.width = small(s, "width", 1, kMaxSwitch, 1);
      p_.staging.push_back(std::move(staged));
    }
  }

  void read_switches(const yaml::Node& node) {
    if (const yaml::Node* vector = node.find("vector");
        vector && r_.is_map(*vector, "vector", {"axis", "width"})) {
      if (const yaml::Node* axis = vector->find("axis"))
        p_.vector_axis = id(*axis, "axis", axes_).value_or(-1);
      p_.vector_width = small(*vector, "width", 1, kMaxSwitch, 1);
    }
    p_.prefetch = small(node, "prefetch", 0, kMaxSwitch, 0);
    p_.pipeline_stages = small(node, "pipeline_stages", 1, kMaxSwitch, 1);
    p_.split_k = small(node, "split_k", 1, kMaxSwitch, 1);
    p_.instruction = r_.text_or(node, "instruction", "");
    if (const yaml::Node* workers = node.find("workers")) {
      p_.workers.assign(axes_.size(), 1);
      read_per_axis(*workers, kMaxSwitch, p_.workers);
    }
  }

  void read_producers(const yaml::Node& node) {
    const yaml::Node* producers = list(node, "producers");
    if (!producers) return;
    for (const yaml::Node& r : producers->items) {
      if (!r_.is_map(r, "a producer", {"level", "tensors", "program"})) continue;
      const yaml::Node* tensors = r_.need(r, "tensors");
      const yaml::Node* program = r_.need(r, "program");
      if (!tensors || !program || !r_.need(r, "level") || !is_program(r_, *program, "name"))
        continue;
      if (inner_) r_.fault(r, "a producer has none of its own");
      Producer out;
      out.level = r_.text_or(r, "level", "");
      out.program = ProgramReader(r_, true).read(*program);
      if (!r_.ok()) return;
      for (const Diag& d : verify(out.program)) r_.fault(*program, d.message, d.hint);
      if (!r_.ok()) return;
      out.tensors.assign(out.program.graph.tensors.size(), -1);
      const std::vector<std::string> own = tensor_names(out.program.graph);
      if (!r_.is_map(*tensors, "tensors")) continue;
      for (const yaml::Entry& e : tensors->entries) {
        const std::optional<int> from = key_id(e, "tensor", own),
                                 to = id(e.value, "tensor", tensors_);
        if (from && to) out.tensors[static_cast<size_t>(*from)] = *to;
      }
      if (r_.ok() && passed_tensor(out) < 0)
        r_.fault(*tensors, "tensors: the producer's output is none of the whole program's tensors");
      p_.producers.push_back(std::move(out));
    }
  }

  TextReader& r_;
  const bool inner_;
  Program p_;
  std::vector<std::string> axes_, tensors_;
};

}  // namespace

Program read_program(TextReader& reader, const yaml::Node& node, bool is_document) {
  const std::string_view schema = is_document ? "schema" : "name";
  if (!is_program(reader, node, schema)) return {};
  return ProgramReader(reader).read(node);
}

Result<Program> parse_program(std::string_view text, std::string_view file) {
  Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc.ok()) return doc.diags();
  TextReader reader(*doc);
  if (!reader.has_schema("assay/program/2", "assay/program/1")) return reader.diags();
  Program p = read_program(reader, doc->root, true);
  if (!reader.ok()) return reader.diags();
  return p;
}

}  // namespace assay::ir
