// The graphs of one-operator texts: what each operator computes, and its parameters. Products and
// windows; operator_elements.cpp has the others.
#include "compiler/operator_graphs.h"

#include <cmath>

#include "compiler/operator_parts.h"

namespace assay::compiler {

namespace {

using ir::constant;
using ir::variable;
using parts::add_node;
using parts::add_tensor;
using parts::add_weights;
using parts::apply;
using parts::elementwise;
using parts::finish;
using parts::read_of;
using parts::reduction;

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

std::vector<Operator> all_operators() {
  const std::vector<Parameter> pool = {{"n", 1}, {"c", 0}, {"h", 0},      {"w", 0},
                                       {"r", 0}, {"s", 0}, {"stride", 1}, {"pad", -1}};
  std::vector<Operator> table = {
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
  };
  const std::vector<Operator>& elements = element_operators();
  table.insert(table.end(), elements.begin(), elements.end());
  return table;
}

}  // namespace

const std::vector<Operator>& operators() {
  static const std::vector<Operator> table = all_operators();
  return table;
}

}  // namespace assay::compiler
