#include <fmt/format.h>

#include "ir/text_graph.h"
#include "ir/text_program.h"
#include "support/hash.h"
#include "support/yaml.h"

namespace assay::ir {
namespace {

using yaml::quote;

std::string join(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string named(const std::vector<std::string>& names, size_t i) {
  return i < names.size() ? quote(names[i]) : fmt::format("\"#{}\"", i);
}

template <class T>
std::string per_axis(const std::vector<T>& values, const std::vector<std::string>& axes) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < values.size(); ++i)
    parts.push_back(fmt::format("{}: {}", named(axes, i), values[i]));
  return "{" + join(parts) + "}";
}

std::string spell_tile(const TileLevel& tile, const std::vector<std::string>& axes) {
  std::vector<std::string> order;
  for (int axis : tile.order) order.push_back(named(axes, static_cast<size_t>(axis)));
  return fmt::format("{{memory: {}, extent: {}, order: [{}]}}", quote(tile.memory),
                     per_axis(tile.extent, axes), join(order));
}

std::string spell_edges(const Program& p) {
  std::vector<std::string> parts;
  for (const InnerEdge& e : p.edges)
    parts.push_back(
        fmt::format("{{from: {}, to: {}, level: {}}}", e.producer, e.consumer, quote(e.level)));
  return join(parts);
}

std::string spell_staging(const Program& p) {
  std::vector<std::string> parts;
  for (const Staging& s : p.staging) {
    std::string copy;
    if (s.tasks) copy += ", tasks: " + quote(print(*s.tasks));
    if (s.width != 1) copy += fmt::format(", width: {}", s.width);
    parts.push_back(fmt::format("{{read: {}, level: {}, layout: {}{}}}", s.read, s.level,
                                quote(print(s.layout)), copy));
  }
  return join(parts);
}

std::string spell_threads(const Program& p, const std::vector<std::string>& axes,
                          const std::vector<std::string>& tensors) {
  if (!p.threads) return "";
  const ThreadMapping& t = *p.threads;
  std::vector<std::string> widths;
  for (size_t i = 0; i < t.widths.size(); ++i)
    if (t.widths[i] != 1) widths.push_back(fmt::format("{}: {}", named(tensors, i), t.widths[i]));
  return fmt::format("{{axes: [{}, {}], tasks: {}{}}}",
                     named(axes, static_cast<size_t>(t.row_axis)),
                     named(axes, static_cast<size_t>(t.column_axis)), quote(print(t.tasks)),
                     widths.empty() ? "" : ", widths: {" + join(widths) + "}");
}

std::string spell_vector(const Program& p, const std::vector<std::string>& axes) {
  const std::string width = fmt::format("width: {}", p.vector_width);
  return p.vector_axis < 0
             ? width
             : fmt::format("axis: {}, {}", named(axes, static_cast<size_t>(p.vector_axis)), width);
}

// Fields that are left out at their defaults.
std::string spell_switches(const Program& p, const std::string& pad,
                           const std::vector<std::string>& axes,
                           const std::vector<std::string>& tensors) {
  std::string text;
  const auto line = [&](bool shown, std::string_view key, const std::string& value) {
    if (shown) text += fmt::format("{}{}: {}\n", pad, key, value);
  };
  line(p.vector_axis >= 0 || p.vector_width != 1, "vector", "{" + spell_vector(p, axes) + "}");
  line(p.threads.has_value(), "threads", spell_threads(p, axes, tensors));
  line(!p.staging.empty(), "staging", "[" + spell_staging(p) + "]");
  line(p.prefetch != 0, "prefetch", std::to_string(p.prefetch));
  line(p.pipeline_stages != 1, "pipeline_stages", std::to_string(p.pipeline_stages));
  line(p.split_k != 1, "split_k", std::to_string(p.split_k));
  line(!p.workers.empty(), "workers", per_axis(p.workers, axes));
  line(!p.instruction.empty(), "instruction", quote(p.instruction));
  return text;
}

std::string spell_producers(const Program& p, const std::string& pad,
                            const std::vector<std::string>& tensors) {
  if (p.producers.empty()) return "";
  std::string text = pad + "producers:\n";
  for (const Producer& r : p.producers) {
    const std::vector<std::string> own = tensor_names(r.program.graph);
    std::vector<std::string> pairs;
    for (size_t t = 0; t < r.tensors.size(); ++t)
      if (r.tensors[t] >= 0)
        pairs.push_back(fmt::format("{}: {}", named(own, t),
                                    named(tensors, static_cast<size_t>(r.tensors[t]))));
    text += fmt::format("{0}  - level: {1}\n{0}    tensors: {{{2}}}\n{0}    program:\n", pad,
                        quote(r.level), join(pairs)) +
            print_program_fields(r.program, static_cast<int>(pad.size()) + 6);
  }
  return text;
}

}  // namespace

std::string print_program_fields(const Program& p, int indent) {
  const std::string pad(static_cast<size_t>(indent), ' ');
  const std::vector<std::string> axes =
      p.graph.nodes.empty() ? std::vector<std::string>{} : axis_names(p.graph.nodes[0]);
  const std::vector<std::string> tensors = tensor_names(p.graph);
  std::string text = fmt::format("{}name: {}\n{}graph:\n", pad, quote(p.name), pad) +
                     print_graph_fields(p.graph, indent + 2);
  if (!p.edges.empty()) text += fmt::format("{}edges: [{}]\n", pad, spell_edges(p));
  std::vector<std::string> layouts;
  for (size_t i = 0; i < p.layouts.size(); ++i)
    layouts.push_back(fmt::format("{}: {}", named(tensors, i), quote(print(p.layouts[i]))));
  text += fmt::format("{}layouts: {{{}}}\n", pad, join(layouts));
  text += pad + (p.tiles.empty() ? "tiles: []\n" : "tiles:\n");
  for (const TileLevel& tile : p.tiles)
    text += fmt::format("{}  - {}\n", pad, spell_tile(tile, axes));
  return text + spell_switches(p, pad, axes, tensors) + spell_producers(p, pad, tensors);
}

std::string print_program(const Program& p) {
  return (p.producers.empty() ? "schema: assay/program/1\n" : "schema: assay/program/2\n") +
         print_program_fields(p, 0);
}

std::string hash_of(const Program& p) { return hash_hex(print_program(p)); }

}  // namespace assay::ir
