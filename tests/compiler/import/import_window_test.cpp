// Convolutions and pools against loops written from ONNX's definition.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

struct Case {
  int64_t n, groups, in_per_group, out_per_group, h, w, kh, kw, sh, sw, dh, dw, top, left, bottom,
      right;
  int64_t channels() const { return groups * in_per_group; }
  int64_t filters() const { return groups * out_per_group; }
  int64_t out_h() const { return (h + top + bottom - dh * (kh - 1) - 1) / sh + 1; }
  int64_t out_w() const { return (w + left + right - dw * (kw - 1) - 1) / sw + 1; }
  bool fits() const { return h + top + bottom > dh * (kh - 1) && w + left + right > dw * (kw - 1); }
};

Case random_case(Random& r) {
  return {r.pick({1, 2}),        r.pick({1, 1, 2, 3}), r.pick({1, 2, 5}),    r.pick({1, 3}),
          r.pick({1, 5, 7, 13}), r.pick({3, 8, 11}),   r.pick({1, 2, 3, 5}), r.pick({1, 3}),
          r.pick({1, 2, 3}),     r.pick({1, 2}),       r.pick({1, 1, 2}),    r.pick({1, 2}),
          r.pick({0, 1, 2}),     r.pick({0, 1}),       r.pick({0, 1, 3}),    r.pick({0, 0, 2})};
}

void set_window(NodeBuilder node, const Case& c) {
  node.set("kernel_shape", Shape{c.kh, c.kw})
      .set("strides", Shape{c.sh, c.sw})
      .set("pads", Shape{c.top, c.left, c.bottom, c.right});
  if (c.dh != 1 || c.dw != 1) node.set("dilations", Shape{c.dh, c.dw});
}

// f(image row, image column, kernel row, kernel column) over the window; it may reach outside.
template <class F>
void each_in_window(const Case& c, int64_t y, int64_t x, F f) {
  for (int64_t r = 0; r < c.kh; ++r)
    for (int64_t s = 0; s < c.kw; ++s)
      f(y * c.sh + r * c.dh - c.top, x * c.sw + s * c.dw - c.left, r, s);
}

TEST(ImportConv, LikeNaiveLoops) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const Case c = random_case(random);
    if (!c.fits()) continue;
    const Shape xs = {c.n, c.channels(), c.h, c.w}, ws = {c.filters(), c.in_per_group, c.kh, c.kw};
    const Floats x = random.floats(xs), w = random.floats(ws), b = random.floats({c.filters()});
    std::vector<double> want;
    for (int64_t n = 0; n < c.n; ++n)
      for (int64_t o = 0; o < c.filters(); ++o)
        for (int64_t y = 0; y < c.out_h(); ++y)
          for (int64_t at = 0; at < c.out_w(); ++at) {
            double sum = static_cast<double>(b[static_cast<size_t>(o)]);
            for (int64_t k = 0; k < c.in_per_group; ++k)
              each_in_window(c, y, at, [&](int64_t i, int64_t j, int64_t r, int64_t s) {
                if (i < 0 || j < 0 || i >= c.h || j >= c.w) return;
                const int64_t channel = o / c.out_per_group * c.in_per_group + k;
                sum +=
                    static_cast<double>(x[static_cast<size_t>(
                        ((n * c.channels() + channel) * c.h + i) * c.w + j)]) *
                    static_cast<double>(
                        w[static_cast<size_t>(((o * c.in_per_group + k) * c.kh + r) * c.kw + s)]);
              });
            want.push_back(sum);
          }
    ModelBuilder m;
    m.input("x", xs, x).weights("w", ws, w).weights("b", {c.filters()}, b).output("y");
    set_window(m.node("Conv", {"x", "w", "b"}, {"y"}).set("group", c.groups), c);
    expect_near(m.run(), want);
  }
}

TEST(ImportPool, LikeNaiveLoops) {
  Random random(12);
  for (int round = 0; round < 80; ++round) {
    Case c = random_case(random);
    const bool average = round % 2 == 0, include = round % 4 == 0;
    if (average) c.dh = c.dw = 1;
    if (!c.fits() || c.top >= c.kh || c.left >= c.kw || c.bottom >= c.kh || c.right >= c.kw)
      continue;
    const Shape xs = {c.n, c.channels(), c.h, c.w};
    const Floats x = random.floats(xs);
    std::vector<double> want;
    for (int64_t nc = 0; nc < c.n * c.channels(); ++nc)
      for (int64_t y = 0; y < c.out_h(); ++y)
        for (int64_t at = 0; at < c.out_w(); ++at) {
          double sum = 0, top = -std::numeric_limits<double>::infinity(), count = 0;
          each_in_window(c, y, at, [&](int64_t i, int64_t j, int64_t, int64_t) {
            if (include) ++count;
            if (i < 0 || j < 0 || i >= c.h || j >= c.w) return;
            const double v = static_cast<double>(x[static_cast<size_t>((nc * c.h + i) * c.w + j)]);
            if (!include) ++count;
            sum += v;
            top = std::max(top, v);
          });
          want.push_back(average ? sum / count : top);
        }
    ModelBuilder m;
    m.input("x", xs, x).output("y");
    NodeBuilder node = m.node(average ? "AveragePool" : "MaxPool", {"x"}, {"y"});
    set_window(node, c);
    if (include) node.set("count_include_pad", 1);
    expect_near(m.run(), want);
  }
}

TEST(ImportPool, CeilModeCountsElementsInsideOnly) {
  ModelBuilder m;
  m.input("x", {1, 1, 1, 6}, {1, 2, 3, 4, 5, 6}).output("y");
  m.node("AveragePool", {"x"}, {"y"})
      .set("kernel_shape", Shape{1, 3})
      .set("strides", Shape{1, 2})
      .set("ceil_mode", 1);
  expect_near(m.run(), {2, 4, 5.5});
}

TEST(ImportConv, SamePaddingIsSplitTowardsTheEnd) {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER"}) {
    ModelBuilder m;
    m.input("x", {1, 1, 1, 5}, {1, 2, 3, 4, 5}).weights("w", {1, 1, 1, 2}, {1, 10}).output("y");
    m.node("Conv", {"x", "w"}, {"y"}).set("auto_pad", mode);
    const bool upper = std::string(mode) == "SAME_UPPER";
    expect_near(m.run(), upper ? std::vector<double>{21, 32, 43, 54, 5}
                               : std::vector<double>{10, 21, 32, 43, 54});
  }
}

TEST(ImportPool, GlobalAverage) {
  ModelBuilder m;
  m.input("x", {1, 2, 1, 3}, {1, 2, 3, 10, 20, 60}).output("y");
  m.node("GlobalAveragePool", {"x"}, {"y"});
  Shape shape;
  expect_near(m.run(&shape), {2, 30});
  EXPECT_EQ(shape, (Shape{1, 2, 1, 1}));
}

bool takes_powers(const ir::Scalar& s) {
  return s.op == ir::ScalarOp::pow || std::any_of(s.args.begin(), s.args.end(), takes_powers);
}

// y[c] = x[c] / (bias + alpha / 3 * (x[c-1]^2 + x[c]^2 + x[c+1]^2))^beta. Of a base that is surely
// not negative, quarters are roots.
TEST(ImportLrn, LikeNaiveLoopsWithRootsForQuarters) {
  const Floats x = {-3, -0.5F, 0, 0.25F, 7};
  for (const float beta : {0.25F, 0.5F, 0.75F, 1.0F, 0.6F})
    for (const float alpha : {0.5F, -0.01F}) {
      std::vector<double> want;
      for (int c = 0; c < 5; ++c) {
        double sum = 0;
        for (int k = std::max(0, c - 1); k <= std::min(4, c + 1); ++k)
          sum += std::pow(static_cast<double>(x[static_cast<size_t>(k)]), 2);
        want.push_back(
            static_cast<double>(x[static_cast<size_t>(c)]) /
            std::pow(2 + static_cast<double>(alpha) / 3 * sum, static_cast<double>(beta)));
      }
      ModelBuilder m;
      m.input("x", {1, 5, 1, 1}, x).output("y");
      m.node("LRN", {"x"}, {"y"})
          .set("size", 3)
          .set("alpha", alpha)
          .set("beta", beta)
          .set("bias", 2.0F);
      expect_near(m.run(), want);
      EXPECT_EQ(takes_powers(m.import().value().nodes.back().body), alpha < 0 || beta == 0.6F)
          << alpha << ' ' << beta;
    }
}

TEST(ImportConv, OperatorClasses) {
  const auto op_of = [](int64_t groups, int64_t channels, int64_t filters) {
    ModelBuilder m;
    m.input("x", {1, channels, 4, 4})
        .weights("w", {filters, channels / groups, 1, 1},
                 Floats(static_cast<size_t>(filters * channels / groups)));
    m.node("Conv", {"x", "w"}, {"y"}).set("group", groups);
    m.output("y");
    return m.import().value().nodes[0].op;
  };
  EXPECT_EQ(op_of(1, 4, 8), "conv");
  EXPECT_EQ(op_of(2, 4, 8), "conv");
  EXPECT_EQ(op_of(4, 4, 8), "depthwise");
}

}  // namespace
}  // namespace assay::import
