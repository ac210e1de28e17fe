// `matmul m=1000 n=777 k=513`: one-operator graphs from text.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>

#include "compiler/compile.h"
#include "compiler/operator_graphs.h"
#include "ir/element.h"
#include "ir/positions.h"
#include "support/edit_distance.h"

namespace assay::compiler {

namespace {

std::string usage(const Operator& op) {
  std::string out = op.name;
  for (const Parameter& p : op.parameters)
    out += std::string(" ") + p.name + "=" +
           (p.standard > 0   ? "[" + std::to_string(p.standard) + "]"
            : p.standard < 0 ? "[same]"
                             : "...");
  return out;
}

constexpr int64_t kLargest = int64_t{1} << 40;

// Values of all parameters; errors are collected.
Values read_parameters(const Operator& op, std::istringstream& words, Diags& diags) {
  Values out;
  std::vector<std::string> names, faulty;
  for (const Parameter& p : op.parameters) names.push_back(p.name);
  std::string word;
  while (words >> word) {
    const size_t eq = word.find('=');
    const std::string name = word.substr(0, eq);
    int64_t value = 0;
    const char *begin = word.data() + (eq == std::string::npos ? word.size() : eq + 1),
               *end = word.data() + word.size();
    const auto [stop, code] = std::from_chars(begin, end, value);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string near = nearest(name, names);
      diags.push_back(error("operator " + std::string(op.name) + " has no parameter '" + name + "'",
                            near.empty() ? "usage: " + usage(op)
                                         : "did you mean '" + near + "'? usage: " + usage(op)));
    } else if (code != std::errc() || stop != end || value < (name == "pad" ? 0 : 1) ||
               value > kLargest) {
      faulty.push_back(name);
      diags.push_back(error("'" + word + "' is not " + name + "=<whole number from " +
                            (name == "pad" ? "0" : "1") + " to 2^40>"));
    } else if (!out.emplace(name, value).second) {
      diags.push_back(error("parameter '" + name + "' is given twice"));
    }
  }
  for (const Parameter& p : op.parameters) {
    if (out.contains(p.name)) continue;
    if (p.standard == 0 && std::find(faulty.begin(), faulty.end(), p.name) == faulty.end())
      diags.push_back(
          error(std::string("parameter '") + p.name + "' of operator " + op.name + " is missing",
                "usage: " + usage(op)));
    out[p.name] = p.standard;
  }
  if (out.contains("pad") && out["pad"] < 0) out["pad"] = out["r"] / 2;
  if (out.contains("r") && diags.empty())
    for (const auto& [size, window] : {std::pair{"h", "r"}, std::pair{"w", "s"}})
      if (out[size] + 2 * out["pad"] < out[window])
        diags.push_back(error(std::string("window ") + window + "=" + std::to_string(out[window]) +
                              " is larger than the padded input"));
  return out;
}

// Takes `type=...` out of the text; "": there is none.
Result<std::string> take_type(std::string& text) {
  std::istringstream words(text);
  std::string word, rest, type;
  while (words >> word) {
    if (!word.starts_with("type=")) {
      rest += (rest.empty() ? "" : " ") + word;
    } else if (!type.empty()) {
      return error("parameter 'type' is given twice");
    } else {
      type = word.substr(5);
      if (type.empty())
        return error("'type=' names no type", "types: f64 f32 f16 bf16 f8e4m3 f8e5m2 i8");
    }
  }
  text = rest;
  return type;
}

Result<ir::Graph> parse_untyped(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  words >> name;
  std::vector<std::string> names;
  std::string list;
  for (const Operator& op : operators()) {
    names.push_back(op.name);
    list += "\n  " + usage(op);
    if (name != op.name) continue;
    Diags diags;
    const Values values = read_parameters(op, words, diags);
    if (!diags.empty()) return diags;
    ir::Graph g = op.make(values);
    diags = ir::verify(g);
    if (!diags.empty()) return diags;
    return g;
  }
  const std::string near = nearest(name, names);
  return error(
      "unknown operator '" + name + "'",
      (near.empty() ? "" : "did you mean '" + near + "'? ") + std::string("operators:") + list);
}

}  // namespace

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const Operator& op : operators()) names.emplace_back(op.name);
  return names;
}

Diags give_type(ir::Graph& g, const std::string& type) {
  const std::optional<ir::DType> dtype = ir::parse_dtype(type);
  using D = ir::DType;
  if (!dtype ||
      (*dtype != D::f32 && *dtype != D::f64 && !ir::is_small_float(*dtype) && *dtype != D::i8))
    return {error("unknown type '" + type + "'", "types: f64 f32 f16 bf16 f8e4m3 f8e5m2 i8")};
  if (*dtype == D::f32) return {};
  const bool narrows = ir::is_small_float(*dtype);
  const std::vector<char> kept = ir::positions_of(g);
  std::map<int, int> narrowed;  // constants
  for (size_t i = 0; i < g.tensors.size(); ++i) {
    ir::Tensor& t = g.tensors[i];
    if (t.dtype != D::f32 || kept[i] != 0) continue;
    if (narrows && t.constant >= 0) {
      const auto [to, fresh] =
          narrowed.try_emplace(t.constant, static_cast<int>(g.constants.size()));
      if (fresh) {
        const ir::Constant& c = g.constants[static_cast<size_t>(t.constant)];
        g.constants.push_back({ir::bytes_of_doubles(*dtype, ir::doubles_of(t.dtype, c.bytes))});
      }
      t.constant = to->second;
    }
    t.dtype = *dtype;
    if (narrows) continue;
    if (t.constant >= 0) g.inputs.push_back(static_cast<int>(i));
    t.constant = -1;
  }
  return {};
}

namespace {

Result<ir::Graph> parse_typed(const std::string& text, bool sums_are_i32) {
  std::string rest = text;
  const Result<std::string> type = take_type(rest);
  if (!type) return type.diags();
  Result<ir::Graph> g = parse_untyped(rest);
  if (!g || type->empty()) return g;
  const Diags diags = sums_are_i32 && *type == "i8" ? give_whole_type(*g) : give_type(*g, *type);
  if (!diags.empty()) return diags;
  return g;
}

}  // namespace

Result<ir::Graph> parse_operator(const std::string& text) { return parse_typed(text, false); }

Result<ir::Graph> operator_for_kernels(const std::string& text) { return parse_typed(text, true); }

}  // namespace assay::compiler
