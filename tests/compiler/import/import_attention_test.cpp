// Attention, MultiHeadAttention and rotary embeddings, of ONNX and of ONNX Runtime, against loops
// in float64.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

constexpr double kHidden = -std::numeric_limits<double>::infinity();

double at(const Floats& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); }

std::string faults(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

// Two batches, four heads of queries, `groups` of keys, five queries, six keys.
struct Loops {
  int64_t batch = 2, heads = 4, groups = 4, queries = 5, keys = 6, size = 3, width = 2;
  Floats q, k, v;
  double scale = 1 / std::sqrt(3.0), softcap = 0;
  std::function<double(int64_t, int64_t, int64_t, int64_t)> mask = [](int64_t, int64_t, int64_t,
                                                                      int64_t) { return 0.0; };

  void fill(unsigned seed) {
    Random random(seed);
    q = random.floats({batch, heads, queries, size});
    k = random.floats({batch, groups, keys, size});
    v = random.floats({batch, groups, keys, width});
  }

  // The weights of the keys for one query; all 0 where none is seen.
  std::vector<double> weights(int64_t b, int64_t n, int64_t i) const {
    const int64_t m = n / (heads / groups);
    std::vector<double> w;
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (int64_t d = 0; d < size; ++d)
        score += scale * at(q, ((b * heads + n) * queries + i) * size + d) *
                 at(k, ((b * groups + m) * keys + j) * size + d);
      if (softcap > 0) score = softcap * std::tanh(score / softcap);
      w.push_back(std::exp(score + mask(b, n, i, j)));
      sum += w.back();
    }
    for (double& x : w) x = sum > 0 ? x / sum : 0;
    return w;
  }

  // [batch, heads, queries, width], or with the heads behind the queries.
  std::vector<double> run(bool merged = false) const {
    std::vector<double> y(static_cast<size_t>(batch * heads * queries * width), 0);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t n = 0; n < heads; ++n)
        for (int64_t i = 0; i < queries; ++i) {
          const std::vector<double> w = weights(b, n, i);
          const int64_t m = n / (heads / groups), row = merged ? (b * queries + i) * heads + n
                                                               : (b * heads + n) * queries + i;
          for (int64_t j = 0; j < keys; ++j)
            for (int64_t d = 0; d < width; ++d)
              y[static_cast<size_t>(row * width + d)] +=
                  w[static_cast<size_t>(j)] * at(v, ((b * groups + m) * keys + j) * width + d);
        }
    return y;
  }
};

// [batch, heads, length, size] as [batch, length, heads * size].
Floats merged(const Floats& x, int64_t batch, int64_t heads, int64_t length, int64_t size) {
  Floats y;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < length; ++i)
      for (int64_t n = 0; n < heads; ++n)
        for (int64_t d = 0; d < size; ++d)
          y.push_back(x[static_cast<size_t>(((b * heads + n) * length + i) * size + d)]);
  return y;
}

ModelBuilder four(const Loops& l, int64_t opset = 23) {
  ModelBuilder m(opset);
  m.input("q", {l.batch, l.heads, l.queries, l.size}, l.q)
      .input("k", {l.batch, l.groups, l.keys, l.size}, l.k)
      .input("v", {l.batch, l.groups, l.keys, l.width}, l.v)
      .output("y");
  return m;
}

TEST(ImportAttention, HeadsShareKeysInGroups) {
  for (const int64_t groups : {1, 2, 4}) {
    Loops l;
    l.groups = groups;
    l.fill(71);
    ModelBuilder m = four(l);
    m.node("Attention", {"q", "k", "v"}, {"y"});
    Shape shape;
    expect_near(m.run(&shape), l.run());
    EXPECT_EQ(shape, (Shape{2, 4, 5, 2}));
  }
}

TEST(ImportAttention, ThreeDimensionsHaveTheirHeadsSplit) {
  Loops l;
  l.groups = 2;
  l.fill(72);
  ModelBuilder m(23);
  m.input("q", {2, 5, 12}, merged(l.q, 2, 4, 5, 3))
      .input("k", {2, 6, 6}, merged(l.k, 2, 2, 6, 3))
      .input("v", {2, 6, 4}, merged(l.v, 2, 2, 6, 2))
      .output("y");
  m.node("Attention", {"q", "k", "v"}, {"y"}).set("q_num_heads", 4).set("kv_num_heads", 2);
  Shape shape;
  expect_near(m.run(&shape), l.run(true));
  EXPECT_EQ(shape, (Shape{2, 5, 8}));
}

TEST(ImportAttention, ScaleSoftcapAndCausality) {
  Loops l;
  l.scale = 0.75;
  l.softcap = 0.5;
  l.mask = [](int64_t, int64_t, int64_t i, int64_t j) { return j > i ? kHidden : 0; };
  l.fill(73);
  ModelBuilder m = four(l);
  m.node("Attention", {"q", "k", "v"}, {"y"})
      .set("scale", 0.75F)
      .set("softcap", 0.5F)
      .set("is_causal", 1);
  expect_near(m.run(), l.run());
}

// The last key is beyond the mask; query 2 of the first batch sees none.
TEST(ImportAttention, LogicalMasksHideAndMayHideAll) {
  Loops l;
  l.fill(74);
  Floats mask;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 5; ++j) mask.push_back((i + j + b) % 3 && !(b == 0 && i == 2));
  l.mask = [&](int64_t b, int64_t, int64_t i, int64_t j) {
    return j < 5 && at(mask, (b * 5 + i) * 5 + j) != 0 ? 0 : kHidden;
  };
  ModelBuilder m = four(l);
  m.input("mask", {2, 1, 5, 5}, mask, TensorProto::BOOL);
  m.node("Attention", {"q", "k", "v", "mask"}, {"y"});
  const std::vector<double> y = m.run();
  expect_near(y, l.run());
  EXPECT_EQ(y[4], 0);
}

TEST(ImportAttention, NumbersAreAddedToTheScores) {
  Loops l;
  l.fill(75);
  Floats mask = Random(76).floats({4, 5, 6});
  mask[7] = -std::numeric_limits<float>::infinity();
  l.mask = [&](int64_t, int64_t n, int64_t i, int64_t j) {
    return at(mask, (n * 5 + i) * 6 + j) + (j > i ? kHidden : 0);
  };
  ModelBuilder m = four(l);
  m.input("mask", {4, 5, 6}, mask);
  m.node("Attention", {"q", "k", "v", "mask"}, {"y"}).set("is_causal", 1);
  expect_near(m.run(), l.run());
}

// Two of the six keys are of the past, so a query's own key is two further.
TEST(ImportAttention, ThePastComesBeforeTheKeys) {
  Loops l;
  l.mask = [](int64_t, int64_t, int64_t i, int64_t j) { return j > i + 2 ? kHidden : 0; };
  l.fill(77);
  const auto rows = [](const Floats& x, int64_t size, int64_t first, int64_t count) {
    Floats y;
    for (int64_t head = 0; head < 8; ++head)
      for (int64_t i = 0; i < count * size; ++i)
        y.push_back(x[static_cast<size_t>((head * 6 + first) * size + i)]);
    return y;
  };
  ModelBuilder m(23);
  m.input("q", {2, 4, 5, 3}, l.q)
      .input("k", {2, 4, 4, 3}, rows(l.k, 3, 2, 4))
      .input("v", {2, 4, 4, 2}, rows(l.v, 2, 2, 4))
      .input("pk", {2, 4, 2, 3}, rows(l.k, 3, 0, 2))
      .input("pv", {2, 4, 2, 2}, rows(l.v, 2, 0, 2))
      .output("y")
      .output("keys");
  m.node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "keys"}).set("is_causal", 1);
  expect_near(m.run(), l.run());
  const ir::Graph g = m.import().value();
  const auto values = ir::evaluate(g, m.inputs);
  EXPECT_EQ((*values)[static_cast<size_t>(g.outputs[1])],
            std::vector<double>(l.k.begin(), l.k.end()));
}

// Four and six keys count; a query's place is aligned with the last of them.
TEST(ImportAttention, LengthsAndWindows) {
  Loops l;
  l.fill(78);
  const int64_t lengths[] = {4, 6};
  l.mask = [&](int64_t b, int64_t, int64_t i, int64_t j) {
    const int64_t place = i + lengths[b] - 5;
    return j < lengths[b] && j >= place - 2 && j <= place + 1 ? 0 : kHidden;
  };
  ModelBuilder m = four(l, 25);
  m.input("n", {2}, {4, 6}, TensorProto::INT64);
  m.node("Attention", {"q", "k", "v", "", "", "", "n"}, {"y"})
      .set("left_window_size", 2)
      .set("right_window_size", 1);
  expect_near(m.run(), l.run());
}

TEST(ImportAttention, TheWeightsAreAnOutput) {
  Loops l;
  l.groups = 2;
  l.fill(79);
  ModelBuilder m = four(l);
  m.model.mutable_graph()->mutable_output(0)->set_name("w");
  m.node("Attention", {"q", "k", "v"}, {"y", "", "", "w"}).set("qk_matmul_output_mode", 3);
  std::vector<double> want;
  for (int64_t row = 0; row < 2 * 4 * 5; ++row)
    for (double w : l.weights(row / 20, row / 5 % 4, row % 5)) want.push_back(w);
  expect_near(m.run(), want);
}

TEST(ImportAttention, WhatCanNotBeIsRefusedByName) {
  Loops l;
  l.fill(80);
  const auto fault_of = [&](const char* attribute, int64_t value) {
    ModelBuilder m = four(l);
    m.node("Attention", {"q", "k", "v"}, {"y"}).set(attribute, value);
    return faults(m);
  };
  EXPECT_NE(fault_of("softmax_precision", TensorProto::DOUBLE).find("softmax_precision is f64"),
            std::string::npos);
  EXPECT_NE(fault_of("qk_matmul_output_mode", 4).find("qk_matmul_output_mode = 4 is not known"),
            std::string::npos);
  ModelBuilder flat(23);
  flat.input("x", {1, 2, 4}, Floats(8)).output("y");
  flat.node("Attention", {"x", "x", "x"}, {"y"});
  EXPECT_NE(faults(flat).find("attribute q_num_heads is missing"), std::string::npos);
}

// The bias is of queries, keys and values; the second batch has three keys.
TEST(ImportMultiHeadAttention, BiasAndPadding) {
  Loops l;
  l.fill(81);
  const Floats bias = Random(82).floats({12 + 12 + 8});
  const Floats q = merged(l.q, 2, 4, 5, 3), k = merged(l.k, 2, 4, 6, 3),
               v = merged(l.v, 2, 4, 6, 2);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t n = 0; n < 4; ++n) {
      const auto shift = [&](Floats& x, int64_t length, int64_t size, int64_t first) {
        for (int64_t i = 0; i < length * size; ++i)
          x[static_cast<size_t>((b * 4 + n) * length * size + i)] +=
              bias[static_cast<size_t>(first + n * size + i % size)];
      };
      shift(l.q, 5, 3, 0);
      shift(l.k, 6, 3, 12);
      shift(l.v, 6, 2, 24);
    }
  l.mask = [](int64_t b, int64_t, int64_t, int64_t j) { return b == 1 && j >= 3 ? -2.0 : 0; };
  for (const bool by_length : {false, true}) {
    ModelBuilder m;
    m.input("q", {2, 5, 12}, q).input("k", {2, 6, 12}, k).input("v", {2, 6, 8}, v);
    m.weights("bias", {32}, bias).output("y");
    if (by_length)
      m.input("mask", {2}, {6, 3}, TensorProto::INT32);
    else
      m.input("mask", {2, 6}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, TensorProto::INT32);
    m.node("MultiHeadAttention", {"q", "k", "v", "bias", "mask"}, {"y"})
        .domain("com.microsoft")
        .set("num_heads", 4)
        .set("mask_filter_value", -2.0F);
    expect_near(m.run(), l.run(true), 1e-5);
  }
}

// Weights that copy the input to queries, keys and values.
TEST(ImportMicrosoftAttention, ProjectsThenAttends) {
  Loops l;
  l.batch = 1;
  l.keys = l.queries;
  l.width = l.size;
  l.scale = 1 / std::sqrt(3.0);
  l.q = l.k = l.v = Random(83).floats({1, 4, 5, 3});
  l.mask = [](int64_t, int64_t, int64_t i, int64_t j) { return j > i ? kHidden : 0; };
  Floats weights(12 * 36, 0);
  for (size_t i = 0; i < 12; ++i)
    for (size_t part = 0; part < 3; ++part) weights[i * 36 + part * 12 + i] = 1;
  ModelBuilder m;
  m.input("x", {1, 5, 12}, merged(l.q, 1, 4, 5, 3)).weights("w", {12, 36}, weights).output("y");
  m.node("Attention", {"x", "w"}, {"y"})
      .domain("com.microsoft")
      .set("num_heads", 4)
      .set("unidirectional", 1);
  expect_near(m.run(), l.run(true));
  ModelBuilder rotary;
  rotary.input("x", {1, 5, 12}).weights("w", {12, 36}, weights).output("y");
  rotary.node("Attention", {"x", "w"}, {"y"})
      .domain("com.microsoft")
      .set("num_heads", 4)
      .set("do_rotary", 1);
  EXPECT_NE(faults(rotary).find("do_rotary = 1 is not supported"), std::string::npos);
}

// Angles of 90 and 180 degrees at positions 1 and 0: pairs (1, 2) and (3, 4), or (1, 3) and (2, 4).
TEST(ImportRotaryEmbedding, RotatesPairs) {
  const auto run = [](int interleaved, bool microsoft) {
    ModelBuilder m(23);
    m.input("x", {1, 1, 2, 5}, {1, 2, 3, 4, 9, 1, 2, 3, 4, 9})
        .input("at", {1, 2}, {1, 0}, TensorProto::INT64)
        .weights("cos", {2, 2}, {1, -1, 0, -1})
        .weights("sin", {2, 2}, {0, 0, 1, 0})
        .output("y");
    m.node("RotaryEmbedding",
           microsoft ? std::vector<std::string>{"x", "at", "cos", "sin"}
                     : std::vector<std::string>{"x", "cos", "sin", "at"},
           {"y"})
        .domain(microsoft ? "com.microsoft" : "")
        .set("rotary_embedding_dim", 4)
        .set("interleaved", interleaved);
    return m.run();
  };
  for (const bool microsoft : {false, true}) {
    expect_near(run(0, microsoft), {-3, -2, 1, -4, 9, 1, -2, 3, -4, 9});
    expect_near(run(1, microsoft), {-2, 1, -3, -4, 9, 1, 2, -3, -4, 9});
  }
}

// Two heads side by side, and tables in the order of the sequence.
TEST(ImportRotaryEmbedding, SplitsHeadsAndTakesTablesInOrder) {
  ModelBuilder m(23);
  m.input("x", {1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})
      .input("cos", {1, 2, 1}, {0, 0.5F})
      .input("sin", {1, 2, 1}, {1, 2})
      .output("y");
  m.node("RotaryEmbedding", {"x", "cos", "sin"}, {"y"}).set("num_heads", 2);
  expect_near(m.run(), {-2, 1, -4, 3, 2.5 - 12, 10 + 3, 3.5 - 16, 14 + 4});
  ModelBuilder none(23);
  none.input("x", {1, 2, 4}, Floats(8))
      .input("cos", {1, 2, 1}, {0, 0})
      .input("sin", {1, 2, 1}, {1, 2})
      .output("y");
  none.node("RotaryEmbedding", {"x", "cos", "sin"}, {"y"});
  EXPECT_NE(faults(none).find("attribute num_heads = 0"), std::string::npos);
}

}  // namespace
}  // namespace assay::import
