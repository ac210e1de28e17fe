#include "ir/text_tuple.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/yaml.h"

namespace assay::ir {
namespace {

// Axes, then the names of one state or of two: bare names in a tree.
struct Names {
  std::vector<std::string> all;
  int axes = 0, states = 0;

  Names(const std::vector<std::string>& of_axes, const TupleReduction& tuple, bool two)
      : all(of_axes), axes(static_cast<int>(of_axes.size())) {
    for (const Component& c : tuple.state) all.push_back(c.name);
    for (const Component& c : tuple.state)
      if (two) all.push_back("other." + c.name);
    states = static_cast<int>(all.size()) - axes;
  }
};

// Operands of the state as axes behind the node's, reads numbered from 0.
Scalar named(Scalar s, const Names& names) {
  if (s.op == ScalarOp::read && s.operand < names.states) {
    s.op = ScalarOp::axis;
    s.operand += names.axes;
  } else if (s.op == ScalarOp::read) {
    s.operand -= names.states;
  }
  for (Scalar& arg : s.args) arg = named(std::move(arg), names);
  return s;
}

// The inverse.
Scalar numbered(Scalar s, const Names& names) {
  if (s.op == ScalarOp::read) s.operand += names.states;
  if (s.op == ScalarOp::axis && s.operand >= names.axes) {
    s.op = ScalarOp::read;
    s.operand -= names.axes;
  }
  for (Scalar& arg : s.args) arg = numbered(std::move(arg), names);
  return s;
}

std::string spell(const Scalar& s, const Names& names,
                  const std::function<std::string(int)>& operand) {
  return spell_body(named(s, names), names.all, operand);
}

std::vector<std::string> axis_names_of(const Node& n) {
  std::vector<std::string> out;
  for (const Axis& a : n.axes) out.push_back(a.name);
  return out;
}

std::string spell_init(double value) {
  return spell_body(number(value), {}, [](int) { return std::string(); });
}

class TupleReader {
 public:
  TupleReader(TextReader& reader, const BodyNames& names, Node& n)
      : r_(reader), names_(names), n_(n), tuple_(std::get<TupleReduction>(n.kind)) {}

  void read(const yaml::Node& node) {
    const yaml::Node* init = r_.need(node, "init");
    const yaml::Node* step = r_.need(node, "step");
    const yaml::Node* combine = r_.need(node, "combine");
    const yaml::Node* results = r_.need(node, "results");
    if (!init || !step || !combine || !results || !r_.is_map(*init, "init") ||
        !r_.is_list(*results, "results"))
      return;
    for (const yaml::Entry& e : init->entries) read_init(e);
    const std::vector<std::string> axes(names_.axes.begin(), names_.axes.end());
    const Names one(axes, tuple_, false), two(axes, tuple_, true);
    read_each(*step, "step", one, &Component::step);
    read_each(*combine, "combine", two, &Component::combine);
    for (const yaml::Node& item : results->items) tuple_.results.push_back(tree(item, one));
  }

 private:
  void read_init(const yaml::Entry& e) {
    Component c;
    c.name = e.key;
    std::vector<Read> none;
    const auto value = r_.expression(e.value, [&](Scanner& s) {
      return parse_body(s, BodyNames{{}, {}}, none);
    });
    if (value && value->op == ScalarOp::constant)
      c.init = value->value;
    else if (value)
      r_.fault(e.value, "a component begins as a number");
    tuple_.state.push_back(std::move(c));
  }

  void read_each(const yaml::Node& node, const char* key, const Names& names,
                 Scalar Component::*member) {
    if (!r_.is_map(node, key)) return;
    for (const yaml::Entry& e : node.entries)
      if (std::none_of(tuple_.state.begin(), tuple_.state.end(),
                       [&](const Component& c) { return c.name == e.key; }))
        r_.fault(e.value, fmt::format("{} is no component of the state", e.key),
                 "the components are those of init");
    for (Component& c : tuple_.state)
      if (const yaml::Node* value = r_.need(node, c.name)) c.*member = tree(*value, names);
  }

  Scalar tree(const yaml::Node& node, const Names& names) {
    const auto parsed = r_.expression(node, [&](Scanner& s) {
      return parse_body(s, BodyNames{names.all, names_.tensors}, n_.reads);
    });
    return parsed ? numbered(*parsed, names) : Scalar();
  }

  TextReader& r_;
  const BodyNames& names_;
  Node& n_;
  TupleReduction& tuple_;
};

}  // namespace

std::string spell_tuple(const Node& n, const TupleReduction& tuple) {
  const std::vector<std::string> axes = axis_names_of(n);
  const Names one(axes, tuple, false), two(axes, tuple, true);
  const auto by_number = [](int i) { return fmt::format("${}", i); };
  std::string init, step, combine, results;
  for (const Component& c : tuple.state) {
    const char* comma = init.empty() ? "" : ", ";
    const std::string key = comma + yaml::quote(c.name) + ": ";
    init += key + spell_init(c.init);
    step += key + yaml::quote(spell(c.step, one, by_number));
    combine += key + yaml::quote(spell(c.combine, two, by_number));
  }
  for (const Scalar& r : tuple.results)
    results += (results.empty() ? "" : ", ") + yaml::quote(spell(r, one, by_number));
  const auto axis = static_cast<size_t>(tuple.axis);
  return fmt::format(
      "{{axis: {}, init: {{{}}}, step: {{{}}}, combine: {{{}}}, results: [{}]}}",
      axis < axes.size() ? yaml::quote(axes[axis]) : fmt::format("\"#{}\"", tuple.axis), init, step,
      combine, results);
}

std::string print_tuple(const Node& n, const TupleReduction& tuple,
                        const std::function<std::string(int)>& operand) {
  const std::vector<std::string> axes = axis_names_of(n);
  const Names names(axes, tuple, false);
  std::string steps, results;
  for (const Component& c : tuple.state)
    steps +=
        fmt::format("{}{} = {}", steps.empty() ? "" : ", ", c.name, spell(c.step, names, operand));
  for (const Scalar& r : tuple.results)
    results += (results.empty() ? "" : ", ") + spell(r, names, operand);
  return fmt::format("tuple({}) {}; then {}",
                     fmt::join(axes.end() - std::min<std::ptrdiff_t>(tuple.over, std::ssize(axes)),
                               axes.end(), ", "),
                     steps, results);
}

void read_tuple(TextReader& reader, const yaml::Node& node, const BodyNames& names, Node& n) {
  TupleReader(reader, names, n).read(node);
}

}  // namespace assay::ir
