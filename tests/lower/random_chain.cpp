#include "tests/lower/random_chain.h"

#include <random>
#include <string>
#include <utility>

namespace assay::test {

namespace {

class RandomChain {
 public:
  explicit RandomChain(uint32_t seed) : rng_(seed) {
    g_.name = "chain";
    rows_ = pick({1, 3, 8, 17, 24});
    columns_ = pick({1, 5, 8, 16, 24});
    last_ = input({rows_, columns_});
  }

  ir::Graph make(int nodes) {
    while (static_cast<int>(g_.nodes.size()) < nodes) add_one();
    g_.outputs = {last_};
    return g_;
  }

 private:
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

  ir::Node node(const std::string& op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads,
                ir::Scalar body, std::vector<int64_t> shape,
                ir::Combiner combine = ir::Combiner::none) {
    ir::Node n;
    n.name = op + std::to_string(g_.nodes.size());
    n.op = op;
    n.axes = std::move(axes);
    n.reads = std::move(reads);
    n.body = std::move(body);
    n.combine = combine;
    n.output = tensor(std::move(shape));
    return n;
  }

  void add_one() {
    const ir::Index m = ir::variable(0), n = ir::variable(1), k = ir::variable(2);
    const auto a = [](const char* name, int64_t extent) { return ir::Axis{name, extent}; };
    const auto here = [&] { return ir::Read{last_, {m, n}}; };
    switch (rng_() % 5) {
      case 0: {  // a product with weights
        const int64_t wide = pick({1, 7, 8, 19, 32});
        const int w = input({columns_, wide});
        g_.nodes.push_back(node("matmul", {a("m", rows_), a("n", wide), a("k", columns_)},
                                {{last_, {m, k}}, {w, {k, n}}},
                                ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}),
                                {rows_, wide}, ir::Combiner::sum));
        columns_ = wide;
        break;
      }
      case 1: {  // a row's largest number, and what is left of each
        g_.nodes.push_back(node("max", {a("m", rows_), a("k", columns_)}, {{last_, {m, n}}},
                                ir::read(0), {rows_}, ir::Combiner::max));
        const int most = g_.nodes.back().output;
        g_.nodes.push_back(node("sub", {a("m", rows_), a("n", columns_)}, {here(), {most, {m}}},
                                ir::apply(ir::ScalarOp::sub, {ir::read(0), ir::read(1)}),
                                {rows_, columns_}));
        break;
      }
      case 2: {  // a column vector for all rows
        const int b = input({columns_});
        g_.nodes.push_back(node("add", {a("m", rows_), a("n", columns_)}, {here(), {b, {n}}},
                                ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)}),
                                {rows_, columns_}));
        break;
      }
      case 3: {
        g_.nodes.push_back(node("tanh", {a("m", rows_), a("n", columns_)}, {here()},
                                ir::apply(ir::ScalarOp::tanh, {ir::read(0)}), {rows_, columns_}));
        break;
      }
      default: {
        g_.nodes.push_back(node("transpose", {a("m", columns_), a("n", rows_)}, {{last_, {n, m}}},
                                ir::read(0), {columns_, rows_}));
        std::swap(rows_, columns_);
      }
    }
    last_ = g_.nodes.back().output;
  }

  std::mt19937 rng_;
  ir::Graph g_;
  int64_t rows_ = 1, columns_ = 1;
  int last_ = -1;
};

}  // namespace

ir::Graph random_chain(uint32_t seed, int nodes) { return RandomChain(seed).make(nodes); }

}  // namespace assay::test
