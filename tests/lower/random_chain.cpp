#include "tests/lower/random_chain.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>

namespace assay::test {

namespace {

class RandomGraph {
 protected:
  RandomGraph(uint32_t seed, const char* name) : rng_(seed) { g_.name = name; }

  int64_t pick(std::vector<int64_t> of) { return of[rng_() % of.size()]; }
  int tensor(std::vector<int64_t> shape) {
    g_.tensors.push_back(
        {"t" + std::to_string(g_.tensors.size()), ir::DType::f32, std::move(shape), -1});
    return static_cast<int>(g_.tensors.size()) - 1;
  }
  int input(std::vector<int64_t> shape) {
    g_.inputs.push_back(tensor(std::move(shape)));
    return g_.inputs.back();
  }
  void add(const char* op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads, ir::Scalar body,
           std::vector<int64_t> shape, ir::Combiner combine = ir::Combiner::none) {
    ir::Node n;
    n.name = op + std::to_string(g_.nodes.size());
    n.op = op;
    n.axes = std::move(axes);
    n.reads = std::move(reads);
    n.body = std::move(body);
    n.combine = combine;
    last_ = n.output = tensor(std::move(shape));
    g_.nodes.push_back(std::move(n));
  }

  // Of every third graph, an earlier result is an output as well.
  void finish() {
    g_.outputs = {last_};
    const ir::Node& n = g_.nodes[rng_() % g_.nodes.size()];
    if (rng_() % 3 == 0 && n.output != last_) g_.outputs.push_back(n.output);
  }

  std::mt19937 rng_;
  ir::Graph g_;
  int last_ = -1;
};

class RandomChain : RandomGraph {
 public:
  explicit RandomChain(uint32_t seed) : RandomGraph(seed, "chain") {
    rows_ = pick({1, 3, 8, 17, 24});
    columns_ = pick({1, 5, 8, 16, 24});
    last_ = input({rows_, columns_});
  }

  ir::Graph make(int nodes) {
    while (static_cast<int>(g_.nodes.size()) < nodes) add_one();
    finish();
    return g_;
  }

 private:
  void add_one() {
    const ir::Index m = ir::variable(0), n = ir::variable(1), k = ir::variable(2);
    const auto a = [](const char* name, int64_t extent) { return ir::Axis{name, extent}; };
    const int from = last_;
    const auto here = [&] { return ir::Read{from, {m, n}}; };
    switch (rng_() % 6) {
      case 0: {  // a product with weights
        const int64_t wide = pick({1, 7, 8, 19, 32});
        const int w = input({columns_, wide});
        add("matmul", {a("m", rows_), a("n", wide), a("k", columns_)},
            {{from, {m, k}}, {w, {k, n}}}, ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}),
            {rows_, wide}, ir::Combiner::sum);
        columns_ = wide;
        break;
      }
      case 1: {  // a row's largest number, and what is left of each
        add("max", {a("m", rows_), a("k", columns_)}, {{from, {m, n}}}, ir::read(0), {rows_},
            ir::Combiner::max);
        const int most = last_;
        add("sub", {a("m", rows_), a("n", columns_)}, {here(), {most, {m}}},
            ir::apply(ir::ScalarOp::sub, {ir::read(0), ir::read(1)}), {rows_, columns_});
        break;
      }
      case 2: {  // a column vector for all rows
        const int b = input({columns_});
        add("add", {a("m", rows_), a("n", columns_)}, {here(), {b, {n}}},
            ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)}), {rows_, columns_});
        break;
      }
      case 3: {
        add("tanh", {a("m", rows_), a("n", columns_)}, {here()},
            ir::apply(ir::ScalarOp::tanh, {ir::read(0)}), {rows_, columns_});
        break;
      }
      case 4: {  // an earlier matrix of the same shape
        std::vector<int> alike;
        for (size_t t = 0; t < g_.tensors.size(); ++t)
          if (g_.tensors[t].shape == std::vector<int64_t>{rows_, columns_})
            alike.push_back(static_cast<int>(t));
        add("add", {a("m", rows_), a("n", columns_)},
            {here(), {alike[rng_() % alike.size()], {m, n}}},
            ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)}), {rows_, columns_});
        break;
      }
      default: {
        add("transpose", {a("m", columns_), a("n", rows_)}, {{from, {n, m}}}, ir::read(0),
            {columns_, rows_});
        std::swap(rows_, columns_);
      }
    }
  }

  int64_t rows_ = 1, columns_ = 1;
};

class RandomImages : RandomGraph {
 public:
  explicit RandomImages(uint32_t seed) : RandomGraph(seed, "images") {
    channels_ = pick({1, 3, 8, 16});
    height_ = pick({1, 5, 7, 12, 16});
    width_ = pick({1, 4, 9, 16});
    last_ = input(shape());
  }

  ir::Graph make(int nodes) {
    while (static_cast<int>(g_.nodes.size()) < nodes) add_one();
    finish();
    return g_;
  }

 private:
  std::vector<int64_t> shape() const { return {1, channels_, height_, width_}; }
  int weights(std::vector<int64_t> of) {
    const int t = tensor(std::move(of));
    ir::Constant c;
    // Results are about as large as what they are computed from, however many follow each other.
    const auto terms = static_cast<float>(ir::elements(g_.tensors[static_cast<size_t>(t)]) /
                                          g_.tensors[static_cast<size_t>(t)].shape[0]);
    const float most = std::sqrt(3 / terms);
    std::uniform_real_distribution<float> d(-most, most);
    for (int64_t i = 0; i < ir::elements(g_.tensors[static_cast<size_t>(t)]); ++i) {
      const float v = d(rng_);
      const auto* bytes = reinterpret_cast<const std::byte*>(&v);
      c.bytes.insert(c.bytes.end(), bytes, bytes + sizeof v);
    }
    g_.tensors[static_cast<size_t>(t)].constant = static_cast<int>(g_.constants.size());
    g_.constants.push_back(std::move(c));
    return t;
  }

  void add_node(const char* op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads,
                ir::Scalar body, ir::Combiner combine = ir::Combiner::none) {
    add(op, std::move(axes), std::move(reads), std::move(body), shape(), combine);
  }

  static ir::Read here(int tensor) {
    return {tensor, {ir::variable(0), ir::variable(1), ir::variable(2), ir::variable(3)}};
  }

  void add_one() {
    const int from = last_;
    const auto axes = [&](int64_t channels, int64_t height, int64_t width) {
      return std::vector<ir::Axis>{{"n", 1}, {"c", channels}, {"y", height}, {"x", width}};
    };
    const auto kind = rng_() % 6;
    if (kind == 4)
      return add_node("tanh", axes(channels_, height_, width_), {here(from)},
                      ir::apply(ir::ScalarOp::tanh, {ir::read(0)}));
    if (kind == 5) {
      std::vector<int> alike;
      for (const ir::Node& n : g_.nodes)
        if (g_.tensors[static_cast<size_t>(n.output)].shape == shape()) alike.push_back(n.output);
      if (alike.empty()) return;
      return add_node("add", axes(channels_, height_, width_),
                      {here(from), here(alike[rng_() % alike.size()])},
                      ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)}));
    }
    const int64_t high = std::min<int64_t>(pick({1, 2, 3}), height_),
                  wide = std::min<int64_t>(pick({1, 3}), width_), step = pick({1, 1, 2}),
                  pad_y = high == 3 ? pick({0, 1}) : 0, pad_x = wide == 3 ? pick({0, 1}) : 0;
    const int64_t inputs = channels_;
    height_ = (height_ + 2 * pad_y - high) / step + 1;
    width_ = (width_ + 2 * pad_x - wide) / step + 1;
    const bool products = kind < 2;
    if (products) channels_ = pick({1, 5, 8, 16});
    std::vector<ir::Axis> all = axes(channels_, height_, width_);
    if (products) all.push_back({"k", inputs});
    const int r = static_cast<int>(all.size()), s = r + 1;
    all.push_back({"r", high});
    all.push_back({"s", wide});
    ir::Read image{from,
                   {ir::variable(0), ir::variable(products ? 4 : 1),
                    ir::variable(2, step) + ir::variable(r) + -pad_y,
                    ir::variable(3, step) + ir::variable(s) + -pad_x}};
    image.guarded = pad_y > 0 || pad_x > 0;
    if (kind == 3) {
      image.fill = ir::identity_of(ir::Combiner::max);
      return add_node("maxpool", std::move(all), {image}, ir::read(0), ir::Combiner::max);
    }
    const ir::Index c = ir::variable(1);
    ir::Read filter = products ? ir::Read{weights({channels_, inputs, high, wide}),
                                          {c, ir::variable(4), ir::variable(r), ir::variable(s)}}
                               : ir::Read{weights({channels_, high, wide}),
                                          {c, ir::variable(r), ir::variable(s)}};
    add_node(products ? "conv" : "depthwise", std::move(all), {image, std::move(filter)},
             ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}), ir::Combiner::sum);
  }

  int64_t channels_ = 1, height_ = 1, width_ = 1;
};

}  // namespace

ir::Graph random_images(uint32_t seed, int nodes) { return RandomImages(seed).make(nodes); }

ir::Graph random_chain(uint32_t seed, int nodes) { return RandomChain(seed).make(nodes); }

}  // namespace assay::test
