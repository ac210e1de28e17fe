// One-operator graphs compared with plain loops.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/compile.h"

namespace assay::test {
namespace {

std::vector<float> values(size_t n) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = std::sin(static_cast<float>(i * i % 1013));
  return out;
}

// The output of `text`, and the fixed inputs it was evaluated on.
struct Ran {
  std::vector<std::vector<float>> in;
  std::vector<double> out;
};

Ran run(const std::string& text) {
  const Result<ir::Graph> g = compiler::parse_operator(text);
  if (!g) throw std::runtime_error(render(g.diags()));
  Ran r;
  for (int t : g->inputs)
    r.in.push_back(values(static_cast<size_t>(ir::elements(g->tensors[static_cast<size_t>(t)]))));
  const auto all = ir::evaluate(*g, r.in);
  if (!all) throw std::runtime_error(render(all.diags()));
  r.out = (*all)[static_cast<size_t>(g->outputs[0])];
  return r;
}

double d(float x) { return static_cast<double>(x); }

TEST(Operators, Softmax) {
  const Ran r = run("softmax rows=5 columns=7");
  for (size_t i = 0; i < 5; ++i) {
    double sum = 0;
    for (size_t j = 0; j < 7; ++j) sum += std::exp(d(r.in[0][i * 7 + j]));
    for (size_t j = 0; j < 7; ++j)
      EXPECT_NEAR(r.out[i * 7 + j], std::exp(d(r.in[0][i * 7 + j])) / sum, 1e-12);
  }
}

TEST(Operators, LayerNorm) {
  const Ran r = run("layer_norm rows=4 columns=9");
  for (size_t i = 0; i < 4; ++i) {
    double mean = 0, squares = 0;
    for (size_t j = 0; j < 9; ++j) mean += d(r.in[0][i * 9 + j]) / 9;
    for (size_t j = 0; j < 9; ++j) squares += std::pow(d(r.in[0][i * 9 + j]) - mean, 2);
    for (size_t j = 0; j < 9; ++j) {
      const double norm = (d(r.in[0][i * 9 + j]) - mean) / std::sqrt(squares / 9 + 1e-5);
      EXPECT_NEAR(r.out[i * 9 + j], norm * d(r.in[1][j]) + d(r.in[2][j]), 1e-10);
    }
  }
}

TEST(Operators, RmsNorm) {
  const Ran r = run("rms_norm rows=4 columns=9");
  for (size_t i = 0; i < 4; ++i) {
    double squares = 0;
    for (size_t j = 0; j < 9; ++j) squares += std::pow(d(r.in[0][i * 9 + j]), 2);
    for (size_t j = 0; j < 9; ++j)
      EXPECT_NEAR(r.out[i * 9 + j],
                  d(r.in[0][i * 9 + j]) / std::sqrt(squares / 9 + 1e-5) * d(r.in[1][j]), 1e-10);
  }
}

TEST(Operators, Elements) {
  const auto expect = [](const std::string& name, auto&& of) {
    const Ran r = run(name + " n=50");
    for (size_t i = 0; i < 50; ++i) {
      const double x = d(r.in[0][i]), y = r.in.size() > 1 ? d(r.in[1][i]) : 1.5, e = of(x, y);
      if (std::isfinite(e)) {
        EXPECT_NEAR(r.out[i], e, 1e-12 * (1 + std::abs(e))) << name;
      } else {
        EXPECT_FALSE(std::isfinite(r.out[i])) << name;
      }
    }
  };
  expect("sub", [](double x, double y) { return x - y; });
  expect("mul", [](double x, double y) { return x * y; });
  expect("div", [](double x, double y) { return x / y; });
  expect("pow", [](double x, double y) { return std::pow(x, y); });
  expect("add_scalar", [](double x, double y) { return x + y; });
  expect("mul_scalar", [](double x, double y) { return x * y; });
  expect("div_scalar", [](double x, double y) { return x / y; });
  expect("pow_scalar", [](double x, double y) { return std::pow(x, y); });
  expect("exp", [](double x, double) { return std::exp(x); });
  expect("tanh", [](double x, double) { return std::tanh(x); });
  expect("sigmoid", [](double x, double) { return 1 / (1 + std::exp(-x)); });
  expect("silu", [](double x, double) { return x / (1 + std::exp(-x)); });
}

TEST(Operators, Pooling) {
  const Ran most = run("max_pool c=2 h=6 w=5 r=3 s=3 stride=2"),
            mean = run("avg_pool c=2 h=6 w=5 r=3 s=3 stride=2");
  ASSERT_EQ(most.out.size(), 2U * 3 * 3);
  for (int c = 0; c < 2; ++c)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 3; ++x) {
        double largest = -1e30, sum = 0;
        for (int h = 2 * y - 1; h <= 2 * y + 1; ++h)
          for (int w = 2 * x - 1; w <= 2 * x + 1; ++w) {
            if (h < 0 || h >= 6 || w < 0 || w >= 5) continue;
            const double v = d(most.in[0][static_cast<size_t>((c * 6 + h) * 5 + w)]);
            largest = std::max(largest, v);
            sum += v;
          }
        const auto at = static_cast<size_t>((c * 3 + y) * 3 + x);
        EXPECT_EQ(most.out[at], largest);
        EXPECT_NEAR(mean.out[at], sum / 9, 1e-12);
      }
}

TEST(Operators, MovesAndElementwise) {
  const Ran t = run("transpose rows=3 columns=4"), b = run("bias_add rows=3 columns=4"),
            g = run("gelu n=20"), a = run("add n=20");
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(t.out[j * 3 + i], d(t.in[0][i * 4 + j]));
      EXPECT_EQ(b.out[i * 4 + j], d(b.in[0][i * 4 + j]) + d(b.in[1][j]));
    }
  for (size_t i = 0; i < 20; ++i) {
    const double x = d(g.in[0][i]);
    EXPECT_NEAR(g.out[i], 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))), 1e-12);
    EXPECT_EQ(a.out[i], d(a.in[0][i]) + d(a.in[1][i]));
  }
}

TEST(Operators, Reductions) {
  const Ran m = run("reduce_max rows=3 columns=7"), s = run("reduce_sum rows=3 columns=7"),
            c = run("column_sum rows=3 columns=7");
  for (size_t i = 0; i < 3; ++i) {
    double largest = -1e30, sum = 0;
    for (size_t j = 0; j < 7; ++j) {
      largest = std::max(largest, d(m.in[0][i * 7 + j]));
      sum += d(m.in[0][i * 7 + j]);
    }
    EXPECT_EQ(m.out[i], largest);
    EXPECT_NEAR(s.out[i], sum, 1e-12);
  }
  for (size_t j = 0; j < 7; ++j)
    EXPECT_NEAR(c.out[j], d(c.in[0][j]) + d(c.in[0][7 + j]) + d(c.in[0][14 + j]), 1e-12);
}

// 0.1 in f16 is 0x2E66, in bf16 0x3DCD, in e4m3 0x1D (0.1015625).
TEST(Operators, ATypeNarrowsConstantsAndKeepsPositions) {
  for (const auto& [type, bits] :
       {std::pair{"f16", 0x2E66}, std::pair{"bf16", 0x3DCD}, std::pair{"f8e4m3", 0x1D}}) {
    ir::Graph g;
    g.name = "rows";
    g.tensors = {{"table", ir::DType::f32, {4, 2}, 0},
                 {"at", ir::DType::f32, {3}, -1},
                 {"out", ir::DType::f32, {3, 2}, -1}};
    const std::vector<float> table(8, 0.1F);
    const auto raw = std::as_bytes(std::span(table));
    g.constants = {{{raw.begin(), raw.end()}}};
    ir::Node n{"rows", "gather", {{"i", 3}, {"j", 2}}, 2, {}, {}, ir::Combiner::none};
    ir::Read row{0, {ir::Index{}, ir::variable(1)}, false, 0};
    row.lookup = ir::Lookup{0, 1};
    n.reads = {row, {1, {ir::variable(0)}, false, 0}};
    n.body = ir::read(0);
    g.nodes = {n};
    g.inputs = {1};
    g.outputs = {2};
    ASSERT_TRUE(compiler::give_type(g, type).empty());
    EXPECT_EQ(ir::name_of(g.tensors[0].dtype), type);
    EXPECT_EQ(ir::name_of(g.tensors[2].dtype), type);
    EXPECT_EQ(g.tensors[1].dtype, ir::DType::f32) << "positions stay whole";
    EXPECT_EQ(g.inputs, std::vector<int>{1}) << "weights stay constant";
    const std::vector<std::byte>& bytes =
        g.constants[static_cast<size_t>(g.tensors[0].constant)].bytes;
    const size_t width = type == std::string("f8e4m3") ? 1 : 2;
    ASSERT_EQ(bytes.size(), 8 * width);
    for (size_t k = 0; k < bytes.size(); ++k)
      EXPECT_EQ(std::to_integer<int>(bytes[k]), bits >> (8 * (k % width)) & 0xff);
  }
}

}  // namespace
}  // namespace assay::test
