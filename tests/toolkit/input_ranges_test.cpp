// What random integers a graph's inputs may hold.
#include "toolkit/input_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "toolkit/run.h"

namespace assay::toolkit {
namespace {

using testing::ElementsAre;

// Nodes over vectors of 6 elements.
struct Sample {
  ir::Graph g;

  int tensor(const std::string& name, ir::DType type, std::vector<int64_t> shape = {6}) {
    g.tensors.push_back({name, type, std::move(shape), -1});
    return static_cast<int>(g.tensors.size()) - 1;
  }
  int input(const std::string& name, ir::DType type, std::vector<int64_t> shape = {6}) {
    g.inputs.push_back(tensor(name, type, std::move(shape)));
    return g.inputs.back();
  }
  // The new output: body(reads at i).
  int node(const std::vector<int>& from, ir::Scalar body, ir::DType type = ir::DType::f32) {
    const int out = tensor("t" + std::to_string(g.tensors.size()), type);
    ir::Node n{"n" + std::to_string(out), "op", {{"i", 6}}, out, {}, std::move(body),
               ir::Combiner::none};
    for (const int id : from) n.reads.push_back({id, {ir::variable(0)}, false, 0});
    g.nodes.push_back(std::move(n));
    g.outputs = {out};
    return out;
  }
  // table[ids[i]]
  int lookup(int table, int ids) {
    const int out = node({table, ids}, ir::read(0));
    ir::Read& r = g.nodes.back().reads[0];
    r.index = {ir::constant(0)};
    r.lookup = ir::Lookup{0, 1};
    return out;
  }
  std::vector<std::string> lines() const {
    EXPECT_EQ(render(ir::verify(g)), "");
    return describe_inputs(g);
  }
};

ir::Scalar add(ir::Scalar a, double b) {
  return ir::apply(ir::ScalarOp::add, {std::move(a), ir::number(b)});
}

TEST(InputRanges, APositionIsInsideTheRowsThatItLooksUp) {
  Sample s;
  const int table = s.input("table", ir::DType::f32, {30522}), ids = s.input("ids", ir::DType::i64);
  s.lookup(table, ids);
  EXPECT_THAT(s.lines(),
              ElementsAre("table: uniform in (-1, 1)", "ids: uniform integers in [0, 30522)"));
}

TEST(InputRanges, AreTracedThroughWhatAPositionIsComputedFrom) {
  Sample s;
  const int table = s.input("table", ir::DType::f32, {100}), ids = s.input("ids", ir::DType::i64);
  const int copy = s.node({ids}, ir::read(0), ir::DType::i32);
  s.lookup(table, s.node({copy}, add(ir::read(0), 2), ir::DType::i32));
  EXPECT_THAT(s.lines(),
              ElementsAre("table: uniform in (-1, 1)", "ids: uniform integers in [-2, 97]"));
  Sample t;
  const int rows = t.input("table", ir::DType::f32, {50}), at = t.input("at", ir::DType::i64);
  const ir::Scalar x = ir::read(0);
  t.lookup(rows,
           t.node({at},
                  ir::apply(ir::ScalarOp::select,
                            {ir::apply(ir::ScalarOp::less, {x, ir::number(0)}), add(x, 50), x}),
                  ir::DType::i64));
  EXPECT_THAT(t.lines(),
              ElementsAre("table: uniform in (-1, 1)", "at: uniform integers in [0, 50)"));
}

TEST(InputRanges, SeveralUsesAllowWhatAllOfThemAllow) {
  Sample s;
  const int large = s.input("large", ir::DType::f32, {9}),
            small = s.input("small", ir::DType::f32, {4});
  const int ids = s.input("ids", ir::DType::i32);
  s.lookup(large, ids);
  s.lookup(small, ids);
  EXPECT_EQ(s.lines()[2], "ids: uniform integers in [0, 4)");
}

TEST(InputRanges, FollowOtherUses) {
  Sample s;
  const int mask = s.input("mask", ir::DType::i64), one_hot = s.input("one_hot", ir::DType::i64),
            divisor = s.input("divisor", ir::DType::i32),
            flag = s.input("flag", ir::DType::boolean), count = s.input("count", ir::DType::i64),
            byte = s.input("byte", ir::DType::u8);
  ir::Scalar axis;
  axis.op = ir::ScalarOp::axis;
  axis.operand = 0;
  s.node({mask}, ir::apply(ir::ScalarOp::sub, {ir::number(1), ir::read(0)}));
  s.node({one_hot}, ir::apply(ir::ScalarOp::equal, {ir::read(0), axis}));
  s.node({count, divisor}, ir::apply(ir::ScalarOp::div, {ir::read(0), ir::read(1)}));
  s.node({flag, byte}, ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)}));
  EXPECT_THAT(
      s.lines(),
      ElementsAre("mask: uniform integers in [0, 2)", "one_hot: uniform integers in [0, 6)",
                  "divisor: uniform integers in [1, 8]", "flag: uniform integers in [0, 2)",
                  "count: uniform integers in [-8, 8]", "byte: uniform integers in [0, 256)"));
}

// Programs compute in f32: what their operands hold shows in their use alone.
TEST(InputRanges, APositionIsAnIntegerWhateverItsType) {
  Sample s;
  const int table = s.input("table", ir::DType::f32, {9}), ids = s.input("ids", ir::DType::f32),
            mask = s.input("mask", ir::DType::f32);
  s.lookup(table, ids);
  s.node({mask}, ir::apply(ir::ScalarOp::sub, {ir::number(1), ir::read(0)}));
  EXPECT_THAT(s.lines(), ElementsAre("table: uniform in (-1, 1)", "ids: uniform integers in [0, 9)",
                                     "mask: uniform in (-1, 1)"));
  s.g.input_types = {ir::DType::f32, ir::DType::i64, ir::DType::i64};
  EXPECT_EQ(s.lines()[2], "mask: uniform integers in [0, 2)");
}

TEST(GenerateInputs, IntegersFillTheirRangeAndFollowTheSeed) {
  Sample s;
  const int table = s.input("table", ir::DType::f32, {7}),
            ids = s.input("ids", ir::DType::i64, {6});
  s.lookup(table, ids);
  std::set<float> seen;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Values drawn = generate_inputs(s.g, seed);
    EXPECT_EQ(drawn, generate_inputs(s.g, seed));
    EXPECT_NE(drawn, generate_inputs(s.g, seed + 1));
    seen.insert(drawn[1].begin(), drawn[1].end());
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace assay::toolkit
