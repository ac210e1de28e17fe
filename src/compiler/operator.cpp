// `matmul m=1000 n=777 k=513`: one-operator graphs from text.
#include <charconv>
#include <map>
#include <sstream>

#include "base/edit_distance.h"
#include "compiler/compile.h"

namespace assay::compiler {

namespace {

using ir::constant;
using ir::variable;

struct Parameter {
  const char* name;
  int64_t standard;   // 0: must be given
};

struct Operator {
  const char* name;
  std::vector<Parameter> parameters;
  ir::Graph (*make)(const std::map<std::string, int64_t>&);
};

using Values = std::map<std::string, int64_t>;

int add_tensor(ir::Graph& g, const char* name, std::vector<int64_t> shape, bool input) {
  ir::Tensor t;
  t.name = name;
  t.shape = std::move(shape);
  g.tensors.push_back(std::move(t));
  const int id = static_cast<int>(g.tensors.size()) - 1;
  if (input) g.inputs.push_back(id);
  return id;
}

uint64_t mix(uint64_t x) {  // splitmix64 finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Weights uniform in +-1: value i is a function of i alone.
int add_weights(ir::Graph& g, const char* name, std::vector<int64_t> shape) {
  const int id = add_tensor(g, name, std::move(shape), false);
  ir::Tensor& t = g.tensors[static_cast<size_t>(id)];
  t.constant = static_cast<int>(g.constants.size());
  const auto n = static_cast<uint64_t>(ir::elements(t));
  ir::Constant c;
  c.bytes.resize(n * sizeof(float));
  auto* out = reinterpret_cast<float*>(c.bytes.data());
  for (uint64_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(static_cast<double>(mix((i + 1) * 0x9e3779b97f4a7c15ULL) >> 11) * 0x1p-52 - 1.0);
  g.constants.push_back(std::move(c));
  return id;
}

ir::Read read_of(int tensor, std::vector<ir::Index> index, bool guarded = false, double fill = 0) {
  ir::Read r;
  r.tensor = tensor;
  r.index = std::move(index);
  r.guarded = guarded;
  r.fill = fill;
  return r;
}

ir::Graph finish(ir::Graph g, ir::Node n) {
  n.name = n.op;
  g.name = "operator:" + n.op;
  g.outputs = {n.output};
  g.nodes.push_back(std::move(n));
  return g;
}

ir::Scalar product() { return ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}); }

ir::Graph make_matmul(const Values& v) {
  ir::Graph g;
  const int64_t b = v.at("b"), m = v.at("m"), n = v.at("n"), k = v.at("k");
  const bool batched = b > 1;
  const auto shape = [&](int64_t rows, int64_t columns) {
    return batched ? std::vector<int64_t>{b, rows, columns} : std::vector<int64_t>{rows, columns};
  };
  const int a = add_tensor(g, "a", shape(m, k), true), w = add_tensor(g, "b", shape(k, n), true);
  ir::Node node;
  node.op = "matmul";
  if (batched) node.axes.push_back({"b", b});
  const int base = batched ? 1 : 0;
  node.axes.push_back({"m", m});
  node.axes.push_back({"n", n});
  node.axes.push_back({"k", k});
  const auto index = [&](int first, int second) {
    std::vector<ir::Index> i;
    if (batched) i.push_back(variable(0));
    i.push_back(variable(base + first));
    i.push_back(variable(base + second));
    return i;
  };
  node.reads = {read_of(a, index(0, 2)), read_of(w, index(2, 1))};
  node.combine = ir::Combiner::sum;
  node.body = product();
  node.output = add_tensor(g, "c", shape(m, n), false);
  return finish(std::move(g), std::move(node));
}

int64_t out_extent(int64_t in, int64_t window, int64_t stride, int64_t pad) { return (in + 2 * pad - window) / stride + 1; }

ir::Graph make_windowed(const Values& v, bool depthwise) {
  ir::Graph g;
  const int64_t n = v.at("n"), c = v.at("c"), h = v.at("h"), w = v.at("w"), r = v.at("r"), s = v.at("s");
  const int64_t stride = v.at("stride"), pad = v.at("pad");
  const int64_t o = depthwise ? c : v.at("o");
  const int64_t y = out_extent(h, r, stride, pad), x = out_extent(w, s, stride, pad);
  const int in = add_tensor(g, "x", {n, c, h, w}, true);
  const int weights = add_weights(g, "w", {o, depthwise ? 1 : c, r, s});
  ir::Node node;
  node.op = depthwise ? "depthwise" : "conv";
  node.axes = {{"n", n}, {"o", o}, {"y", y}, {"x", x}};
  if (!depthwise) node.axes.push_back({"c", c});
  const int first = depthwise ? 4 : 5;
  node.axes.push_back({"r", r});
  node.axes.push_back({"s", s});
  const ir::Index row = variable(2, stride) + variable(first) + -pad, column = variable(3, stride) + variable(first + 1) + -pad;
  node.reads = {read_of(in, {variable(0), depthwise ? variable(1) : variable(4), row, column}, pad > 0),
                read_of(weights, {variable(1), depthwise ? constant(0) : variable(4), variable(first), variable(first + 1)})};
  node.combine = ir::Combiner::sum;
  node.body = product();
  node.output = add_tensor(g, "y", {n, o, y, x}, false);
  return finish(std::move(g), std::move(node));
}

ir::Graph make_conv(const Values& v) { return make_windowed(v, false); }
ir::Graph make_depthwise(const Values& v) { return make_windowed(v, true); }

ir::Graph make_relu(const Values& v) {
  ir::Graph g;
  const int64_t n = v.at("n");
  const int in = add_tensor(g, "x", {n}, true);
  ir::Node node;
  node.op = "relu";
  node.axes = {{"i", n}};
  node.reads = {read_of(in, {variable(0)})};
  node.body = ir::apply(ir::ScalarOp::max, {ir::read(0), ir::number(0)});
  node.output = add_tensor(g, "y", {n}, false);
  return finish(std::move(g), std::move(node));
}

ir::Graph make_sum(const Values& v) {
  ir::Graph g;
  const int64_t rows = v.at("rows"), columns = v.at("columns");
  const int in = add_tensor(g, "x", {rows, columns}, true);
  ir::Node node;
  node.op = "reduce_sum";
  node.axes = {{"i", rows}, {"k", columns}};
  node.reads = {read_of(in, {variable(0), variable(1)})};
  node.combine = ir::Combiner::sum;
  node.body = ir::read(0);
  node.output = add_tensor(g, "y", {rows}, false);
  return finish(std::move(g), std::move(node));
}

const std::vector<Operator>& operators() {
  static const std::vector<Operator> table = {
      {"matmul", {{"m", 0}, {"n", 0}, {"k", 0}, {"b", 1}}, make_matmul},
      {"conv", {{"n", 1}, {"c", 0}, {"h", 0}, {"w", 0}, {"o", 0}, {"r", 1}, {"s", 1}, {"stride", 1}, {"pad", -1}}, make_conv},
      {"depthwise", {{"n", 1}, {"c", 0}, {"h", 0}, {"w", 0}, {"r", 3}, {"s", 3}, {"stride", 1}, {"pad", -1}}, make_depthwise},
      {"relu", {{"n", 0}}, make_relu},
      {"reduce_sum", {{"rows", 0}, {"columns", 0}}, make_sum},
  };
  return table;
}

std::string usage(const Operator& op) {
  std::string out = op.name;
  for (const Parameter& p : op.parameters)
    out += std::string(" ") + p.name + "=" + (p.standard > 0 ? "[" + std::to_string(p.standard) + "]" : p.standard < 0 ? "[same]" : "...");
  return out;
}

constexpr int64_t kLargest = int64_t{1} << 31;

// Values of all parameters; errors are collected.
Values read_parameters(const Operator& op, std::istringstream& words, Diags& diags) {
  Values out;
  std::vector<std::string> names;
  for (const Parameter& p : op.parameters) names.push_back(p.name);
  std::string word;
  while (words >> word) {
    const size_t eq = word.find('=');
    const std::string name = word.substr(0, eq);
    int64_t value = 0;
    const char *begin = word.data() + (eq == std::string::npos ? word.size() : eq + 1), *end = word.data() + word.size();
    const auto [stop, code] = std::from_chars(begin, end, value);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string near = nearest(name, names);
      diags.push_back(error("operator " + std::string(op.name) + " has no parameter '" + name + "'",
                            near.empty() ? "usage: " + usage(op) : "did you mean '" + near + "'? usage: " + usage(op)));
    } else if (code != std::errc() || stop != end || value < (name == "pad" ? 0 : 1) || value > kLargest) {
      diags.push_back(error("'" + word + "' is not " + name + "=<whole number from " + (name == "pad" ? "0" : "1") + " to 2^31>"));
    } else if (!out.emplace(name, value).second) {
      diags.push_back(error("parameter '" + name + "' is given twice"));
    }
  }
  for (const Parameter& p : op.parameters) {
    if (out.contains(p.name)) continue;
    if (p.standard == 0) diags.push_back(error(std::string("parameter '") + p.name + "' of operator " + op.name + " is missing", "usage: " + usage(op)));
    out[p.name] = p.standard;
  }
  if (out.contains("pad") && out["pad"] < 0) out["pad"] = out["r"] / 2;
  if (out.contains("r") && diags.empty())
    for (const auto& [size, window] : {std::pair{"h", "r"}, std::pair{"w", "s"}})
      if (out[size] + 2 * out["pad"] < out[window])
        diags.push_back(error(std::string("window ") + window + "=" + std::to_string(out[window]) + " is larger than the padded input"));
  return out;
}

}  // namespace

Result<ir::Graph> parse_operator(const std::string& text) {
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
  return error("unknown operator '" + name + "'", (near.empty() ? "" : "did you mean '" + near + "'? ") + std::string("operators:") + list);
}

}  // namespace assay::compiler
