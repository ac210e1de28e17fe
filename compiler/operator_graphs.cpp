// The graphs of one-operator texts: what each operator computes, and its parameters.
#include "compiler/operator_graphs.h"

#include <cmath>

namespace assay::compiler {

namespace {

using ir::constant;
using ir::variable;

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
    out[i] = static_cast<float>(
        static_cast<double>(mix((i + 1) * 0x9e3779b97f4a7c15ULL) >> 11) * 0x1p-52 - 1.0);
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

void add_node(ir::Graph& g, ir::Node n) {
  n.name = n.op;
  g.nodes.push_back(std::move(n));
}

// A graph that computes what its last node does.
ir::Graph finish(ir::Graph g, ir::Node n) {
  g.name = "operator:" + n.op;
  g.outputs = {n.output};
  add_node(g, std::move(n));
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

int64_t out_extent(int64_t in, int64_t window, int64_t stride, int64_t pad) {
  return (in + 2 * pad - window) / stride + 1;
}

ir::Graph make_windowed(const Values& v, bool depthwise) {
  ir::Graph g;
  const int64_t n = v.at("n"), c = v.at("c"), h = v.at("h"), w = v.at("w"), r = v.at("r"),
                s = v.at("s");
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
  const ir::Index row = variable(2, stride) + variable(first) + -pad,
                  column = variable(3, stride) + variable(first + 1) + -pad;
  node.reads = {
      read_of(in, {variable(0), depthwise ? variable(1) : variable(4), row, column}, pad > 0),
      read_of(weights, {variable(1), depthwise ? constant(0) : variable(4), variable(first),
                        variable(first + 1)})};
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

ir::Scalar apply(ir::ScalarOp op, ir::Scalar a, ir::Scalar b) {
  return ir::apply(op, {std::move(a), std::move(b)});
}

// y[i] = body(reads at i), over `axes`.
ir::Node elementwise(const char* op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads,
                     ir::Scalar body, int output) {
  ir::Node n;
  n.op = op;
  n.axes = std::move(axes);
  n.reads = std::move(reads);
  n.body = std::move(body);
  n.output = output;
  return n;
}

ir::Node reduction(const char* op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads,
                   ir::Scalar body, ir::Combiner combine, int output) {
  ir::Node n = elementwise(op, std::move(axes), std::move(reads), std::move(body), output);
  n.combine = combine;
  return n;
}

ir::Node pooling(ir::Graph& g, const Values& v, const char* op, ir::Combiner combine,
                 double outside, int& output) {
  const int64_t n = v.at("n"), c = v.at("c"), h = v.at("h"), w = v.at("w"), r = v.at("r"),
                s = v.at("s");
  const int64_t stride = v.at("stride"), pad = v.at("pad");
  const int64_t y = out_extent(h, r, stride, pad), x = out_extent(w, s, stride, pad);
  const int in = add_tensor(g, "x", {n, c, h, w}, true);
  output = add_tensor(g, "y", {n, c, y, x}, false);
  const ir::Index row = variable(2, stride) + variable(4) + -pad,
                  column = variable(3, stride) + variable(5) + -pad;
  return reduction(op, {{"n", n}, {"c", c}, {"y", y}, {"x", x}, {"r", r}, {"s", s}},
                   {read_of(in, {variable(0), variable(1), row, column}, pad > 0, outside)},
                   ir::read(0), combine, output);
}

ir::Graph make_max_pool(const Values& v) {
  ir::Graph g;
  int y = -1;
  ir::Node n = pooling(g, v, "max_pool", ir::Combiner::max, -INFINITY, y);
  return finish(std::move(g), std::move(n));
}

// The mean of the window, zero padding counted.
ir::Graph make_avg_pool(const Values& v) {
  ir::Graph g;
  int sum = -1;
  add_node(g, pooling(g, v, "avg_pool", ir::Combiner::sum, 0, sum));
  const std::vector<ir::Axis> pooled = g.nodes[0].axes;
  const int out = add_tensor(g, "mean", g.tensors[static_cast<size_t>(sum)].shape, false);
  ir::Node n = elementwise("scale", {pooled.begin(), pooled.begin() + 4},
                           {read_of(sum, {variable(0), variable(1), variable(2), variable(3)})},
                           apply(ir::ScalarOp::mul, ir::read(0),
                                 ir::number(1.0 / static_cast<double>(v.at("r") * v.at("s")))),
                           out);
  return finish(std::move(g), std::move(n));
}

ir::Graph make_max(const Values& v) {
  ir::Graph g = make_sum(v);
  g.name = "operator:reduce_max";
  g.nodes[0].name = g.nodes[0].op = "reduce_max";
  g.nodes[0].combine = ir::Combiner::max;
  return g;
}

// The sum over rows: one value per column.
ir::Graph make_column_sum(const Values& v) {
  ir::Graph g;
  const int64_t rows = v.at("rows"), columns = v.at("columns");
  const int in = add_tensor(g, "x", {rows, columns}, true);
  const int out = add_tensor(g, "y", {columns}, false);
  return finish(std::move(g), reduction("column_sum", {{"j", columns}, {"k", rows}},
                                        {read_of(in, {variable(1), variable(0)})}, ir::read(0),
                                        ir::Combiner::sum, out));
}

// Of vectors of n elements: of two, of one and a number, of one.
template <ir::ScalarOp op>
ir::Graph make_binary(const char* name, const Values& v) {
  ir::Graph g;
  const int64_t n = v.at("n");
  const int a = add_tensor(g, "a", {n}, true), b = add_tensor(g, "b", {n}, true),
            out = add_tensor(g, "y", {n}, false);
  return finish(std::move(g), elementwise(name, {{"i", n}},
                                          {read_of(a, {variable(0)}), read_of(b, {variable(0)})},
                                          apply(op, ir::read(0), ir::read(1)), out));
}

ir::Graph make_unary(const char* name, const Values& v, ir::Scalar body) {
  ir::Graph g;
  const int64_t n = v.at("n");
  const int a = add_tensor(g, "x", {n}, true), out = add_tensor(g, "y", {n}, false);
  return finish(std::move(g),
                elementwise(name, {{"i", n}}, {read_of(a, {variable(0)})}, std::move(body), out));
}

template <ir::ScalarOp op>
ir::Graph make_with_scalar(const char* name, const Values& v) {
  return make_unary(name, v, apply(op, ir::read(0), ir::number(1.5)));
}

ir::Graph make_add(const Values& v) { return make_binary<ir::ScalarOp::add>("add", v); }
ir::Graph make_sub(const Values& v) { return make_binary<ir::ScalarOp::sub>("sub", v); }
ir::Graph make_mul(const Values& v) { return make_binary<ir::ScalarOp::mul>("mul", v); }
ir::Graph make_div(const Values& v) { return make_binary<ir::ScalarOp::div>("div", v); }
ir::Graph make_pow(const Values& v) { return make_binary<ir::ScalarOp::pow>("pow", v); }
ir::Graph make_add_scalar(const Values& v) {
  return make_with_scalar<ir::ScalarOp::add>("add_scalar", v);
}
ir::Graph make_mul_scalar(const Values& v) {
  return make_with_scalar<ir::ScalarOp::mul>("mul_scalar", v);
}
ir::Graph make_div_scalar(const Values& v) {
  return make_with_scalar<ir::ScalarOp::div>("div_scalar", v);
}
ir::Graph make_pow_scalar(const Values& v) {
  return make_with_scalar<ir::ScalarOp::pow>("pow_scalar", v);
}
ir::Graph make_exp(const Values& v) {
  return make_unary("exp", v, ir::apply(ir::ScalarOp::exp, {ir::read(0)}));
}
ir::Graph make_tanh(const Values& v) {
  return make_unary("tanh", v, ir::apply(ir::ScalarOp::tanh, {ir::read(0)}));
}
// 1 / (1 + exp(-x))
ir::Scalar logistic() {
  ir::Scalar e = ir::apply(ir::ScalarOp::exp, {ir::apply(ir::ScalarOp::neg, {ir::read(0)})});
  return apply(ir::ScalarOp::div, ir::number(1), apply(ir::ScalarOp::add, ir::number(1), e));
}
ir::Graph make_sigmoid(const Values& v) { return make_unary("sigmoid", v, logistic()); }
ir::Graph make_silu(const Values& v) {
  return make_unary("silu", v, apply(ir::ScalarOp::mul, ir::read(0), logistic()));
}

// Matrices [rows, columns] and vectors along one of their axes.
struct Matrix {
  std::vector<ir::Axis> axes;
  std::vector<int64_t> shape;

  explicit Matrix(const Values& v)
      : axes{{"i", v.at("rows")}, {"j", v.at("columns")}}, shape{v.at("rows"), v.at("columns")} {}
  static ir::Read at(int tensor) { return read_of(tensor, {variable(0), variable(1)}); }
  static ir::Read along(int tensor, int axis) { return read_of(tensor, {variable(axis)}); }
};

ir::Graph make_bias_add(const Values& v) {
  ir::Graph g;
  const Matrix m(v);
  const int x = add_tensor(g, "x", m.shape, true), bias = add_tensor(g, "bias", {m.shape[1]}, true);
  const int out = add_tensor(g, "y", m.shape, false);
  return finish(std::move(g),
                elementwise("bias_add", m.axes, {Matrix::at(x), Matrix::along(bias, 1)},
                            apply(ir::ScalarOp::add, ir::read(0), ir::read(1)), out));
}

ir::Graph make_transpose(const Values& v) {
  ir::Graph g;
  const Matrix m(v);
  const int x = add_tensor(g, "x", m.shape, true),
            out = add_tensor(g, "y", {m.shape[1], m.shape[0]}, false);
  return finish(std::move(g),
                elementwise("transpose", {m.axes[1], m.axes[0]},
                            {read_of(x, {variable(1), variable(0)})}, ir::read(0), out));
}

// x (1 + erf(x / sqrt 2)) / 2 as a chain of three nodes.
ir::Graph make_gelu(const Values& v) {
  ir::Graph g;
  const std::vector<ir::Axis> axes = {{"i", v.at("n")}};
  const auto tensor = [&](const char* name, bool input) {
    return add_tensor(g, name, {v.at("n")}, input);
  };
  const int x = tensor("x", true), scaled = tensor("scaled", false), bent = tensor("bent", false),
            out = tensor("y", false);
  const auto at = [](int t) { return read_of(t, {variable(0)}); };
  add_node(g,
           elementwise("scale", axes, {at(x)},
                       apply(ir::ScalarOp::mul, ir::read(0), ir::number(std::sqrt(0.5))), scaled));
  add_node(
      g, elementwise("erf", axes, {at(scaled)}, ir::apply(ir::ScalarOp::erf, {ir::read(0)}), bent));
  ir::Scalar half = apply(ir::ScalarOp::add, apply(ir::ScalarOp::mul, ir::read(0), ir::number(0.5)),
                          ir::number(0.5));
  return finish(std::move(g),
                elementwise("gelu", axes, {at(bent), at(x)},
                            apply(ir::ScalarOp::mul, ir::read(1), std::move(half)), out));
}

ir::Scalar shifted_exp() {
  return ir::apply(ir::ScalarOp::exp, {apply(ir::ScalarOp::sub, ir::read(0), ir::read(1))});
}

// Along rows: exp(x - max) / sum of exp(x - max).
ir::Graph make_softmax(const Values& v) {
  ir::Graph g;
  const Matrix m(v);
  const int x = add_tensor(g, "x", m.shape, true);
  const int most = add_tensor(g, "max", {m.shape[0]}, false),
            sum = add_tensor(g, "sum", {m.shape[0]}, false);
  const int out = add_tensor(g, "y", m.shape, false);
  add_node(g,
           reduction("softmax_max", m.axes, {Matrix::at(x)}, ir::read(0), ir::Combiner::max, most));
  add_node(g, reduction("softmax_sum", m.axes, {Matrix::at(x), Matrix::along(most, 0)},
                        shifted_exp(), ir::Combiner::sum, sum));
  return finish(
      std::move(g),
      elementwise("softmax", m.axes, {Matrix::at(x), Matrix::along(most, 0), Matrix::along(sum, 0)},
                  apply(ir::ScalarOp::div, shifted_exp(), ir::read(2)), out));
}

// Along rows: (x - mean) / sqrt(variance + 1e-5) * gain + shift.
ir::Graph make_layer_norm(const Values& v) {
  ir::Graph g;
  const Matrix m(v);
  const int64_t rows = m.shape[0], columns = m.shape[1];
  const int x = add_tensor(g, "x", m.shape, true), gain = add_tensor(g, "gain", {columns}, true),
            shift = add_tensor(g, "shift", {columns}, true);
  const int sum = add_tensor(g, "sum", {rows}, false), mean = add_tensor(g, "mean", {rows}, false);
  const int squares = add_tensor(g, "squares", {rows}, false),
            scale = add_tensor(g, "scale", {rows}, false);
  const int out = add_tensor(g, "y", m.shape, false);
  const std::vector<ir::Axis> row = {m.axes[0]};
  const double part = 1.0 / static_cast<double>(columns);
  const ir::Scalar centred = apply(ir::ScalarOp::sub, ir::read(0), ir::read(1));
  add_node(
      g, reduction("layer_norm_sum", m.axes, {Matrix::at(x)}, ir::read(0), ir::Combiner::sum, sum));
  add_node(g, elementwise("layer_norm_mean", row, {Matrix::along(sum, 0)},
                          apply(ir::ScalarOp::mul, ir::read(0), ir::number(part)), mean));
  add_node(g, reduction("layer_norm_squares", m.axes, {Matrix::at(x), Matrix::along(mean, 0)},
                        apply(ir::ScalarOp::mul, centred, centred), ir::Combiner::sum, squares));
  ir::Scalar spread = apply(
      ir::ScalarOp::add, apply(ir::ScalarOp::mul, ir::read(0), ir::number(part)), ir::number(1e-5));
  add_node(g, elementwise("layer_norm_scale", row, {Matrix::along(squares, 0)},
                          apply(ir::ScalarOp::div, ir::number(1),
                                ir::apply(ir::ScalarOp::sqrt, {std::move(spread)})),
                          scale));
  ir::Scalar body =
      apply(ir::ScalarOp::add,
            apply(ir::ScalarOp::mul, apply(ir::ScalarOp::mul, centred, ir::read(2)), ir::read(3)),
            ir::read(4));
  return finish(std::move(g),
                elementwise("layer_norm", m.axes,
                            {Matrix::at(x), Matrix::along(mean, 0), Matrix::along(scale, 0),
                             Matrix::along(gain, 1), Matrix::along(shift, 1)},
                            std::move(body), out));
}

}  // namespace

const std::vector<Operator>& operators() {
  static const std::vector<Parameter> pool = {{"n", 1}, {"c", 0}, {"h", 0},      {"w", 0},
                                              {"r", 0}, {"s", 0}, {"stride", 1}, {"pad", -1}};
  static const std::vector<Parameter> matrix = {{"rows", 0}, {"columns", 0}};
  static const std::vector<Operator> table = {
      {"matmul", {{"m", 0}, {"n", 0}, {"k", 0}, {"b", 1}}, make_matmul},
      {"conv",
       {{"n", 1},
        {"c", 0},
        {"h", 0},
        {"w", 0},
        {"o", 0},
        {"r", 1},
        {"s", 1},
        {"stride", 1},
        {"pad", -1}},
       make_conv},
      {"depthwise",
       {{"n", 1}, {"c", 0}, {"h", 0}, {"w", 0}, {"r", 3}, {"s", 3}, {"stride", 1}, {"pad", -1}},
       make_depthwise},
      {"max_pool", pool, make_max_pool},
      {"avg_pool", pool, make_avg_pool},
      {"relu", {{"n", 0}}, make_relu},
      {"add", {{"n", 0}}, make_add},
      {"sub", {{"n", 0}}, make_sub},
      {"mul", {{"n", 0}}, make_mul},
      {"div", {{"n", 0}}, make_div},
      {"pow", {{"n", 0}}, make_pow},
      {"add_scalar", {{"n", 0}}, make_add_scalar},
      {"mul_scalar", {{"n", 0}}, make_mul_scalar},
      {"div_scalar", {{"n", 0}}, make_div_scalar},
      {"pow_scalar", {{"n", 0}}, make_pow_scalar},
      {"exp", {{"n", 0}}, make_exp},
      {"tanh", {{"n", 0}}, make_tanh},
      {"sigmoid", {{"n", 0}}, make_sigmoid},
      {"silu", {{"n", 0}}, make_silu},
      {"gelu", {{"n", 0}}, make_gelu},
      {"bias_add", matrix, make_bias_add},
      {"transpose", matrix, make_transpose},
      {"reduce_sum", matrix, make_sum},
      {"reduce_max", matrix, make_max},
      {"column_sum", matrix, make_column_sum},
      {"softmax", matrix, make_softmax},
      {"layer_norm", matrix, make_layer_norm},
  };
  return table;
}

}  // namespace assay::compiler
