// Tiles that overlap, as windows.
#include "ir/windows.h"

#include <gtest/gtest.h>

#include <random>

namespace assay::ir {
namespace {

Read at(int tensor, std::vector<Index> index, bool guarded = false, double fill = 0) {
  Read r{tensor, std::move(index)};
  r.guarded = guarded;
  r.fill = fill;
  return r;
}

Node node(std::vector<Axis> axes, int output, std::vector<Read> reads, Scalar body,
          Combiner combine = Combiner::none) {
  Node n;
  n.name = n.op = "n";
  n.axes = std::move(axes);
  n.output = output;
  n.reads = std::move(reads);
  n.body = std::move(body);
  n.combine = combine;
  return n;
}

// y[i] = sum over r of x[2 i + r - 1], of 3 terms; groups of 4.
Program reader(int64_t rows, int64_t outputs) {
  Program p;
  p.name = "reader";
  p.graph.tensors = {{"x", DType::f32, {rows}, -1}, {"y", DType::f32, {outputs}, -1}};
  p.graph.inputs = {0};
  p.graph.outputs = {1};
  p.graph.nodes = {node({{"i", outputs}, {"r", 3}}, 1,
                        {at(0, {variable(0, 2) + variable(1) + -1}, true)}, read(0),
                        Combiner::sum)};
  p.tiles.push_back({"", {4, 3}, {0, 1}});
  return p;
}

TEST(Windows, OfStepsAndPadding) {
  const std::vector<int> axes{0, -1};
  const Result<Windows> w = needed_windows(reader(19, 10), axes, 0);
  ASSERT_TRUE(w.ok());
  ASSERT_EQ(w->dims.size(), 1U);
  EXPECT_EQ(w->dims[0], (Window{0, -1, 9, 8, 3}));
  EXPECT_TRUE(w->is_filled);
  EXPECT_FALSE(are_tiles(*w, std::vector<int64_t>{19}));
  const WindowDims dims = dims_of(*w, std::vector<int64_t>{19});
  EXPECT_EQ(dims.shape, (std::vector<int64_t>{3, 9}));
}

TEST(Windows, OfTwoReadersAreThoseOfBoth) {
  const Windows a{{{0, -1, 9, 8, 3}}, 0, true}, b{{{0, 0, 8, 8, 3}}, 0, false};
  const Result<Windows> both = joined(a, b, "x");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->dims[0], (Window{0, -1, 9, 8, 3}));
  EXPECT_TRUE(both->is_filled);
  const Windows other{{{0, 0, 8, 4, 3}}, 0, false}, filled{{{0, -1, 9, 8, 3}}, -1, true};
  EXPECT_FALSE(joined(a, other, "x").ok()) << "another distance";
  EXPECT_FALSE(joined(a, filled, "x").ok()) << "another value outside";
}

TEST(Windows, GapsAndTwoAxesAreRefused) {
  Program p = reader(40, 10);
  p.graph.nodes[0].axes[1].extent = 1;
  p.tiles[0].extent[1] = 1;
  p.tiles[0].extent[0] = 1;
  EXPECT_FALSE(needed_windows(p, std::vector<int>{0, -1}, 0).ok()) << "gaps of one";
  p = reader(19, 10);
  p.tiles[0].extent = {4, 1};
  EXPECT_FALSE(needed_windows(p, std::vector<int>{0, 1}, 0).ok()) << "moves with two axes";
}

// x = h + 1 for all of x; y reads windows of it. Windows made and read give what the tensor gave.
TEST(Windows, MadeAndReadTheyGiveTheSame) {
  std::mt19937 rng(5);
  for (const int64_t rows : {1, 2, 7, 19, 20}) {
    const int64_t outputs = (rows + 1) / 2;
    Program p = reader(rows, outputs);
    Graph whole = p.graph;
    whole.tensors.push_back({"h", DType::f32, {rows}, -1});
    whole.inputs = {2};
    const Node made =
        node({{"i", rows}}, 0, {at(2, {variable(0)})}, apply(ScalarOp::add, {read(0), number(1)}));
    whole.nodes.insert(whole.nodes.begin(), made);
    whole.nodes[0].name = "made";
    const std::vector<int> axes{outputs > 4 ? 0 : -1, -1};
    p.tiles[0].extent[0] = std::min<int64_t>(4, outputs);
    Layout padded = row_major(1);
    padded.pad = {{1, 1}};
    const Result<Windows> w = needed_windows(p, axes, 0, padded);
    ASSERT_TRUE(w.ok()) << rows;
    Graph producer;
    producer.tensors = {{"h", DType::f32, {rows}, -1}, {"x", DType::f32, {rows}, -1}};
    producer.inputs = {0};
    producer.outputs = {1};
    producer.nodes = {made};
    producer.nodes[0].reads[0].tensor = 0;
    producer.nodes[0].output = 1;
    const Result<Graph> of_windows = making_windows(producer, *w);
    ASSERT_TRUE(of_windows.ok());
    read_windows(p.graph, 0, *w, axes, p.tiles[0].extent);
    EXPECT_FALSE(p.graph.nodes[0].reads[0].guarded);
    ASSERT_EQ(render(verify(*of_windows)), "") << rows;
    ASSERT_EQ(render(verify(p.graph)), "") << rows;
    std::vector<float> h(static_cast<size_t>(rows));
    for (float& v : h) v = static_cast<float>(rng() % 100);
    const std::vector<std::vector<float>> input{h};
    const auto want = evaluate(whole, input), made_values = evaluate(*of_windows, input);
    ASSERT_TRUE(want.ok()) << render(want.diags());
    ASSERT_TRUE(made_values.ok()) << render(made_values.diags());
    const std::vector<double>& x = (*made_values)[1];
    const std::vector<std::vector<float>> windows{std::vector<float>(x.begin(), x.end())};
    const auto got = evaluate(p.graph, windows);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ((*got)[1], (*want)[1]) << rows;
    if (outputs <= 4) continue;
    Program maker;
    maker.graph = *of_windows;
    const std::vector<Overlap> overlaps = overlaps_of(maker);
    ASSERT_EQ(overlaps.size(), 1U);
    EXPECT_EQ(overlaps[0].extent - overlaps[0].shift, 1) << "one row of each is computed twice";
  }
}

}  // namespace
}  // namespace assay::ir
