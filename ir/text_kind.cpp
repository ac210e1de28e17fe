// The kinds of nodes in the text form of a graph, and for people.
#include <fmt/format.h>

#include <algorithm>

#include "ir/text_body.h"
#include "ir/text_graph.h"
#include "ir/text_tuple.h"
#include "support/yaml.h"

namespace assay::ir {
namespace {

std::string axis_of(const Node& n, int axis) {
  const auto a = static_cast<size_t>(axis);
  return a < n.axes.size() ? yaml::quote(n.axes[a].name) : fmt::format("\"#{}\"", axis);
}

std::string spell(const Node&, const Expression&) { return ""; }

std::string spell(const Node& n, const Scan& s) {
  return fmt::format(", scan: {{axis: {}{}{}}}", axis_of(n, s.axis),
                     s.exclusive ? ", exclusive: true" : "", s.reverse ? ", reverse: true" : "");
}

std::string spell(const Node& n, const Scatter& s) {
  std::string positions;
  for (const Position& p : s.positions)
    positions += fmt::format("{}{}: {}", positions.empty() ? "" : ", ", axis_of(n, p.dim), p.read);
  return fmt::format(", scatter: {{initial: {}, positions: {{{}}}}}", s.initial, positions);
}

std::string spell(const Node& n, const Sort& s) {
  return fmt::format(", sort: {{axis: {}, order: {}}}", axis_of(n, s.axis),
                     s.descending ? "descending" : "ascending");
}

std::string spell(const Node& n, const TupleReduction& t) {
  return ", tuple: " + spell_tuple(n, t);
}

class KindReader {
 public:
  KindReader(TextReader& reader, const std::vector<std::string>& axes) : r_(reader), axes_(axes) {}

  Kind scan(const yaml::Node& node) {
    Scan out;
    if (!r_.is_map(node, "a scan", {"axis", "exclusive", "reverse"})) return out;
    out.axis = axis(r_.need(node, "axis"));
    out.exclusive = r_.flag_or(node, "exclusive", false);
    out.reverse = r_.flag_or(node, "reverse", false);
    return out;
  }

  Kind scatter(const yaml::Node& node) {
    Scatter out;
    if (!r_.is_map(node, "a scatter", {"initial", "positions"})) return out;
    if (r_.need(node, "initial"))
      out.initial = static_cast<int>(r_.integer_or(node, "initial", 0, INT32_MAX, -1));
    const yaml::Node* positions = r_.need(node, "positions");
    if (positions == nullptr || !r_.is_map(*positions, "positions")) return out;
    for (const yaml::Entry& e : positions->entries) {
      yaml::Node key;
      key.scalar = e.key;
      key.line = e.line;
      key.col = e.col;
      const int dim = axis(&key);
      if (const auto read = r_.integer(e.value, 0, INT32_MAX))
        out.positions.push_back({dim, static_cast<int>(*read)});
    }
    return out;
  }

  // Its trees are read when reads can be.
  Kind tuple(const yaml::Node& node) {
    TupleReduction out;
    if (!r_.is_map(node, "a tuple reduction", {"axis", "init", "step", "combine", "results"}))
      return out;
    out.axis = axis(r_.need(node, "axis"));
    return out;
  }

  Kind sort(const yaml::Node& node) {
    Sort out;
    if (!r_.is_map(node, "a sort", {"axis", "order"})) return out;
    out.axis = axis(r_.need(node, "axis"));
    const std::string order = r_.text_or(node, "order", "ascending");
    out.descending = order == "descending";
    if (!out.descending && order != "ascending")
      r_.fault(*node.find("order"), "unknown order", "ascending or descending");
    return out;
  }

 private:
  int axis(const yaml::Node* node) {
    if (node == nullptr) return -1;
    const std::optional<std::string> name = r_.text(*node);
    if (!name) return -1;
    try {
      return find_name(Scanner(*name), 0, "axis", *name, axes_);
    } catch (const TextFault& f) {
      r_.fault(*node, f);
      return -1;
    }
  }

  TextReader& r_;
  const std::vector<std::string>& axes_;
};

}  // namespace

std::string spell_kind(const Node& n) {
  return std::visit([&](const auto& kind) { return spell(n, kind); }, n.kind);
}

std::string print_kind(const Node& n, const std::vector<std::string>& axes,
                       const std::function<std::string(int)>& spell_operand) {
  if (const auto* tuple = std::get_if<TupleReduction>(&n.kind))
    return print_tuple(n, *tuple, spell_operand);
  const std::string body = spell_body(n.body, axes, spell_operand);
  const auto named = [&](int axis) { return axes[static_cast<size_t>(axis)]; };
  if (const auto* scan = std::get_if<Scan>(&n.kind))
    return fmt::format("{}{}scan {}({}) {}", scan->exclusive ? "exclusive " : "",
                       scan->reverse ? "reverse " : "", name_of(n.combine), named(scan->axis),
                       body);
  if (const auto* sort = std::get_if<Sort>(&n.kind))
    return fmt::format("{} order({}) {}", sort->descending ? "descending" : "ascending",
                       axes.back(), body);
  const auto& scatter = std::get<Scatter>(n.kind);
  std::string at;
  for (const Position& p : scatter.positions)
    at += fmt::format("{}{} = {}", at.empty() ? "" : ", ", named(p.dim), spell_operand(p.read));
  return fmt::format("{}, then {} at {}: {}", spell_operand(scatter.initial),
                     n.combine == Combiner::none ? "set" : name_of(n.combine), at, body);
}

Kind read_kind(TextReader& reader, const yaml::Node& node, const std::vector<std::string>& axes) {
  KindReader kinds(reader, axes);
  Kind out;
  int given = 0;
  if (const yaml::Node* scan = node.find("scan")) out = kinds.scan(*scan), ++given;
  if (const yaml::Node* scatter = node.find("scatter")) out = kinds.scatter(*scatter), ++given;
  if (const yaml::Node* sort = node.find("sort")) out = kinds.sort(*sort), ++given;
  if (const yaml::Node* tuple = node.find("tuple")) out = kinds.tuple(*tuple), ++given;
  if (given > 1)
    reader.fault(node, "a node has one kind", "one of scan, scatter, sort, tuple, or none");
  return out;
}

}  // namespace assay::ir
