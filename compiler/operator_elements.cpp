// Operators on vectors of n elements, and on matrices [rows, columns].
#include <cmath>

#include "compiler/operator_graphs.h"
#include "compiler/operator_parts.h"

namespace assay::compiler {

namespace {

using ir::variable;
using parts::add_node;
using parts::add_tensor;
using parts::apply;
using parts::elementwise;
using parts::finish;
using parts::read_of;
using parts::reduction;

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

// 1 / sqrt(sum of n / n + 1e-5)
ir::Scalar inverse_root_of_mean(int64_t n) {
  ir::Scalar mean = apply(ir::ScalarOp::mul, ir::read(0), ir::number(1.0 / static_cast<double>(n)));
  ir::Scalar root =
      ir::apply(ir::ScalarOp::sqrt, {apply(ir::ScalarOp::add, std::move(mean), ir::number(1e-5))});
  return apply(ir::ScalarOp::div, ir::number(1), std::move(root));
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
  add_node(g, elementwise("layer_norm_scale", row, {Matrix::along(squares, 0)},
                          inverse_root_of_mean(columns), scale));
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

// Along rows: x / sqrt(mean of squares + 1e-5) * gain.
ir::Graph make_rms_norm(const Values& v) {
  ir::Graph g;
  const Matrix m(v);
  const int x = add_tensor(g, "x", m.shape, true), gain = add_tensor(g, "gain", {m.shape[1]}, true);
  const int squares = add_tensor(g, "squares", {m.shape[0]}, false),
            scale = add_tensor(g, "scale", {m.shape[0]}, false),
            out = add_tensor(g, "y", m.shape, false);
  add_node(
      g, reduction("rms_norm_squares", m.axes, {Matrix::at(x)},
                   apply(ir::ScalarOp::mul, ir::read(0), ir::read(0)), ir::Combiner::sum, squares));
  add_node(g, elementwise("rms_norm_scale", {m.axes[0]}, {Matrix::along(squares, 0)},
                          inverse_root_of_mean(m.shape[1]), scale));
  ir::Scalar body =
      apply(ir::ScalarOp::mul, apply(ir::ScalarOp::mul, ir::read(0), ir::read(1)), ir::read(2));
  return finish(std::move(g),
                elementwise("rms_norm", m.axes,
                            {Matrix::at(x), Matrix::along(scale, 0), Matrix::along(gain, 1)},
                            std::move(body), out));
}

}  // namespace

const std::vector<Operator>& element_operators() {
  static const std::vector<Parameter> vector = {{"n", 0}}, matrix = {{"rows", 0}, {"columns", 0}};
  static const std::vector<Operator> table = {
      {"relu", vector, make_relu},
      {"add", vector, make_add},
      {"sub", vector, make_sub},
      {"mul", vector, make_mul},
      {"div", vector, make_div},
      {"pow", vector, make_pow},
      {"add_scalar", vector, make_add_scalar},
      {"mul_scalar", vector, make_mul_scalar},
      {"div_scalar", vector, make_div_scalar},
      {"pow_scalar", vector, make_pow_scalar},
      {"exp", vector, make_exp},
      {"tanh", vector, make_tanh},
      {"sigmoid", vector, make_sigmoid},
      {"silu", vector, make_silu},
      {"gelu", vector, make_gelu},
      {"bias_add", matrix, make_bias_add},
      {"transpose", matrix, make_transpose},
      {"reduce_sum", matrix, make_sum},
      {"reduce_max", matrix, make_max},
      {"column_sum", matrix, make_column_sum},
      {"softmax", matrix, make_softmax},
      {"layer_norm", matrix, make_layer_norm},
      {"rms_norm", matrix, make_rms_norm},
  };
  return table;
}

}  // namespace assay::compiler
