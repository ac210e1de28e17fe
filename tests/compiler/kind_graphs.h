// Random small graphs with a scan, a scatter or a sort among other nodes.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "tests/compiler/graph_builder.h"

namespace assay::test {

struct Draw {
  std::mt19937 rng;
  int64_t below(int64_t n) { return static_cast<int64_t>(rng() % static_cast<unsigned long>(n)); }
};

inline int scan_of(Builder& b, Draw& d, int x) {
  const Shape s = b.shape(x);
  const int y = b.node("scan", s, {}, {Builder::at(x, b.own(s.size()))}, ir::read(0),
                       d.below(2) == 0 ? ir::Combiner::sum : ir::Combiner::max);
  // Inclusive: the maximum of an empty prefix is infinite, and infinities may cancel.
  b.g.nodes.back().kind =
      ir::Scan{static_cast<int>(d.below(static_cast<int64_t>(s.size()))), false, d.below(2) == 0};
  return y;
}

// Rows along one axis, at positions of another input, some of them outside.
inline int scatter_of(Builder& b, Draw& d, int x) {
  const Shape s = b.shape(x);
  const auto a = static_cast<size_t>(d.below(static_cast<int64_t>(s.size())));
  const int64_t n = 1 + d.below(6);
  Shape terms = s;
  terms[a] = n;
  const int to = b.scaled(b.input({n}), static_cast<double>(s[a])), u = b.input(terms);
  std::vector<ir::Index> at = b.own(s.size());
  const ir::Index j = ir::variable(static_cast<int>(s.size()));
  at[a] = j;
  const int y =
      b.node("scatter", s, {n},
             {Builder::at(x, b.own(s.size())), Builder::at(to, {j}), Builder::at(u, std::move(at))},
             ir::read(2), d.below(2) == 0 ? ir::Combiner::none : ir::Combiner::sum);
  b.g.nodes.back().kind = ir::Scatter{0, {{static_cast<int>(a), 1}}};
  return y;
}

inline int sort_of(Builder& b, Draw& d, int x) {
  Shape s = b.shape(x);
  const auto a = static_cast<size_t>(d.below(static_cast<int64_t>(s.size())));
  const int64_t terms = s[a];
  std::vector<ir::Index> at = b.own(s.size());
  at[a] = ir::variable(static_cast<int>(s.size()));
  s[a] = 1 + d.below(terms);
  const int y = b.node("top_k", s, {terms}, {Builder::at(x, std::move(at))}, ir::read(0));
  b.g.nodes.back().kind = ir::Sort{static_cast<int>(a), d.below(2) == 0};
  return y;
}

// Nodes of one operand that passes move, fold or join.
inline int plain_of(Builder& b, Draw& d, int x) {
  const Shape s = b.shape(x);
  std::vector<int> order(s.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  switch (d.below(4)) {
    case 0:
      std::swap(order.front(), order.back());
      return b.transpose(x, order);
    case 1:
      return b.unary(ir::ScalarOp::neg, x);
    case 2:
      return b.scaled(x, 0.5);
    default:
      return x;
  }
}

inline ir::Graph graph_of_kinds(Draw& d) {
  Builder b;
  const Shape shapes[] = {{17, 5}, {3, 4, 19}, {1, 16, 3, 5}, {2, 20, 4, 4}, {31}};
  int x = plain_of(b, d, b.input(shapes[d.below(5)]));
  if (b.shape(x).size() == 4 && d.below(2) == 0)  // an image, whose layout is blocked
    x = b.unary(ir::ScalarOp::abs, x);
  const int64_t kind = d.below(3);
  int y = kind == 0 ? scan_of(b, d, x) : kind == 1 ? scatter_of(b, d, x) : sort_of(b, d, x);
  if (d.below(3) == 0 && b.shape(x) == b.shape(y)) y = b.binary(ir::ScalarOp::add, x, y);
  y = plain_of(b, d, plain_of(b, d, y));
  b.g.outputs = {y};
  if (d.below(3) == 0) b.g.outputs.push_back(b.reduce(ir::Combiner::sum, y));
  return b.g;
}

}  // namespace assay::test
