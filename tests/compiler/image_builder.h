// Random small networks over images [channels, rows, columns]: convolutions, pools, elementwise
// nodes, skip connections, upsampling, normalisations. Extents are primes and ones too.
#pragma once

#include <random>
#include <vector>

#include "tests/compiler/graph_builder.h"

namespace assay::test {

struct ImageBuilder : Builder {
  explicit ImageBuilder(uint32_t seed) : rng(seed) {}

  std::mt19937 rng;
  int64_t pick(std::vector<int64_t> from) { return from[rng() % from.size()]; }

  // Extent of the output of a window of k.
  static int64_t windows(int64_t extent, int64_t k, int64_t stride, int64_t pad) {
    return (extent + 2 * pad - k) / stride + 1;
  }
  // The reads of a window, reduced along axes first, first + 1, ...
  static ir::Read window(int x, ir::Index channel, int first, int64_t stride, int64_t pad,
                         double fill) {
    ir::Read r = at(x, {std::move(channel), ir::variable(1, stride) + ir::variable(first) + -pad,
                        ir::variable(2, stride) + ir::variable(first + 1) + -pad});
    r.guarded = true;
    r.fill = fill;
    return r;
  }
  int conv(int x, int64_t channels, int64_t k, int64_t stride, int64_t pad) {
    const Shape from = shape(x);
    const int w = weights({channels, from[0], k, k}, rng);
    const Shape to = {channels, windows(from[1], k, stride, pad), windows(from[2], k, stride, pad)};
    return node("conv", to, {from[0], k, k},
                {window(x, ir::variable(3), 4, stride, pad, 0),
                 at(w, {ir::variable(0), ir::variable(3), ir::variable(4), ir::variable(5)})},
                ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum);
  }
  int pool(int x, int64_t k, int64_t stride, int64_t pad) {
    const Shape from = shape(x);
    const Shape to = {from[0], windows(from[1], k, stride, pad), windows(from[2], k, stride, pad)};
    return node("pool", to, {k, k}, {window(x, ir::variable(0), 3, stride, pad, -100)}, ir::read(0),
                ir::Combiner::max);
  }
  int twice(int x) {  // each pixel four times
    const Shape from = shape(x);
    const auto half = [](int var) {
      return ir::divide(ir::variable(var), 2, std::vector<ir::Range>(3, {0, 1 << 20}));
    };
    return node("upsample", {from[0], 2 * from[1], 2 * from[2]}, {},
                {at(x, {ir::variable(0), half(1), half(2)})}, ir::read(0));
  }
  // Elements that both have, x's rows first.
  int sum_of(int x, int y) {
    if (shape(x) == shape(y)) return binary(ir::ScalarOp::add, x, y);
    return x;
  }
  int scaled_columns(int x) { return binary(ir::ScalarOp::mul, x, weights({shape(x)[2]}, rng)); }

  // Steps from an image; every image so far may be read again.
  void grow(int steps) {
    std::vector<int> all = {
        input({pick({1, 2, 3, 5}), pick({7, 11, 16, 23}), pick({1, 5, 8, 13, 17})})};
    for (int i = 0; i < steps; ++i) {
      const int x = rng() % 3 == 0 ? all[rng() % all.size()] : all.back();
      all.push_back(step(x, all));
    }
    g.outputs = {all.back()};
    if (rng() % 3 == 0 && all.size() > 3 && all[all.size() / 2] != all.back())
      g.outputs.push_back(all[all.size() / 2]);
    if (g.outputs.size() == 2 && g.outputs[1] == g.inputs[0]) g.outputs.pop_back();
  }

 private:
  int step(int x, const std::vector<int>& all) {
    const Shape s = shape(x);
    switch (rng() % 10) {
      case 0:
      case 1:
        return conv(x, pick({1, 2, 3, 4, 8}), 3, 1, 1);
      case 2:
        return conv(x, pick({1, 2, 5}), 1, 1, 0);
      case 3:
        return s[1] > 4 && s[2] > 4 ? conv(x, pick({2, 3}), 3, 2, pick({0, 1})) : scaled(x, 0.5);
      case 4:
        return s[1] > 3 && s[2] > 3 ? pool(x, pick({2, 3}), 2, pick({0, 1})) : scaled(x, 2);
      case 5:
        return unary(ir::ScalarOp::abs, x);
      case 6:
        return ir::elements(g.tensors[static_cast<size_t>(x)]) < 2000 ? twice(x)
                                                                      : scaled_columns(x);
      case 7:
        return sum_of(x, all[rng() % all.size()]);
      case 8:
        return below(scaled_columns(x), static_cast<int>(rng() % 3), double(pick({1, 3, 6})));
      default:
        return binary(ir::ScalarOp::sub, x, reduce(ir::Combiner::max, x));
    }
  }
};

}  // namespace assay::test
