// Small graphs whose operators can run side by side.
#pragma once

#include <cstdlib>

#include "tests/compiler/graph_builder.h"

namespace assay::test {

// Operators on small matrices, each of earlier results; several are outputs.
inline ir::Graph drawn_graph(std::mt19937& rng) {
  Builder b;
  const auto pick = [&](const auto& from) { return from[rng() % from.size()]; };
  std::vector<int> values;
  for (int i = 0; i < 2; ++i)
    values.push_back(
        b.input({1 + static_cast<int64_t>(rng() % 17), 1 + static_cast<int64_t>(rng() % 19)}));
  const int nodes = 4 + static_cast<int>(rng() % 9);
  for (int i = 0; i < nodes; ++i) {
    const int x = pick(values);
    const Shape s = b.shape(x);
    int y = -1;
    switch (rng() % 5) {
      case 0: {
        const int64_t n = 1 + static_cast<int64_t>(rng() % 23);
        const int w = b.weights({s[1], n}, rng);
        y = b.node("product", {s[0], n}, {s[1]},
                   {Builder::at(x, {ir::variable(0), ir::variable(2)}),
                    Builder::at(w, {ir::variable(2), ir::variable(1)})},
                   ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum);
        break;
      }
      case 1:
        y = b.transpose(x, {1, 0});
        break;
      case 2:
        y = b.scaled(x, 0.5);
        break;
      case 3:
        y = b.unary(ir::ScalarOp::tanh, x);
        break;
      default: {
        const int other = pick(values);
        y = b.shape(other) == s ? b.binary(ir::ScalarOp::add, x, other)
                                : b.unary(ir::ScalarOp::abs, x);
      }
    }
    values.push_back(y);
  }
  b.g.outputs.push_back(values.back());
  for (size_t i = 2; i + 1 < values.size(); ++i)
    if (ir::consumers_of(b.g, values[i]).empty()) b.g.outputs.push_back(values[i]);
  b.g.name = "drawn";
  return b.g;
}

// More where ASSAY_TEST_ROUNDS says so.
inline int rounds_of(int usual) {
  const char* more = std::getenv("ASSAY_TEST_ROUNDS");
  return more != nullptr ? std::atoi(more) : usual;
}

}  // namespace assay::test
