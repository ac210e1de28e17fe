// Small graphs for the tests of ir.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace assay::ir::samples {

inline int add_tensor(Graph& g, std::string name, std::vector<int64_t> shape) {
  g.tensors.push_back({std::move(name), DType::f32, std::move(shape), -1});
  return static_cast<int>(g.tensors.size()) - 1;
}

// c[m, n] = sum(k) a[m, k] * b[k, n].
inline Graph matmul(int64_t m, int64_t n, int64_t k) {
  Graph g;
  g.name = "matmul";
  const int a = add_tensor(g, "a", {m, k}), b = add_tensor(g, "b", {k, n}),
            c = add_tensor(g, "c", {m, n});
  Node node{"mm", "matmul", {{"m", m}, {"n", n}, {"k", k}}, c, {}, {}, Combiner::sum};
  node.reads = {{a, {variable(0), variable(2)}, false, 0},
                {b, {variable(2), variable(1)}, false, 0}};
  node.body = apply(ScalarOp::mul, {read(0), read(1)});
  g.nodes = {node};
  g.inputs = {a, b};
  g.outputs = {c};
  return g;
}

struct ConvShape {
  int64_t channels = 1, filters = 1, size = 1, kernel = 1, stride = 1, pad = 0;
};

// y[n,o,y,x] = sum(c,r,s) x[n, c, stride*y + r - pad, stride*x + s - pad] * w[o, c, r, s].
inline Graph conv(ConvShape c) {
  Graph g;
  g.name = "conv";
  const int64_t out = (c.size + 2 * c.pad - c.kernel) / c.stride + 1;
  const int x = add_tensor(g, "x", {1, c.channels, c.size, c.size});
  const int w = add_tensor(g, "w", {c.filters, c.channels, c.kernel, c.kernel});
  const int y = add_tensor(g, "y", {1, c.filters, out, out});
  Node n{"conv1", "conv",       {{"n", 1}, {"o", c.filters}, {"y", out}, {"x", out}}, y, {},
         {},      Combiner::sum};
  for (auto [name, extent] : {std::pair{"c", c.channels}, {"r", c.kernel}, {"s", c.kernel}})
    n.axes.push_back({name, extent});
  n.reads = {{x,
              {variable(0), variable(4), variable(2, c.stride) + variable(5) + -c.pad,
               variable(3, c.stride) + variable(6) + -c.pad},
              c.pad > 0,
              0},
             {w, {variable(1), variable(4), variable(5), variable(6)}, false, 0}};
  n.body = apply(ScalarOp::mul, {read(0), read(1)});
  g.nodes = {n};
  g.inputs = {x, w};
  g.outputs = {y};
  return g;
}

// Deterministic values in [-1, 1].
inline std::vector<float> values(int64_t count, uint64_t seed) {
  std::vector<float> v(static_cast<size_t>(count));
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (float& f : v) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    f = static_cast<float>(static_cast<double>(state >> 40) / static_cast<double>(1 << 23) - 1.0);
  }
  return v;
}

inline std::vector<std::vector<float>> inputs_for(const Graph& g) {
  std::vector<std::vector<float>> inputs;
  for (int id : g.inputs)
    inputs.push_back(
        values(elements(g.tensors[static_cast<size_t>(id)]), static_cast<uint64_t>(id) + 1));
  return inputs;
}

}  // namespace assay::ir::samples
