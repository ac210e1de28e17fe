// The interpreter: its counts, its checks, and the semantics of each statement.
#include "codegen/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/codegen/kernels.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

using Buffers = std::vector<std::vector<float>>;

std::vector<float> numbers(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i) + 1;
  return v;
}

TEST(Interpret, copies_and_counts) {
  Buffers b{numbers(100), std::vector<float>(100)};
  const auto counts = interpret(copy(100), b);
  ASSERT_TRUE(counts.ok()) << render(counts.diags());
  EXPECT_EQ(b[1], b[0]);
  ExecutedCounts expected;
  expected.vector_loads = expected.vector_stores = expected.iterations = 7;
  EXPECT_EQ(*counts, expected);
}

TEST(Interpret, counts_a_matmul_tile) {
  Buffers b{std::vector<float>(3 * 5 * 14, 1.0f), std::vector<float>(5 * 32, 2.0f),
            std::vector<float>(3 * 14 * 32)};
  const auto counts = interpret(matmul_tile(14, 2, 5, 3), b);
  ASSERT_TRUE(counts.ok()) << render(counts.diags());
  EXPECT_EQ(counts->fma, 3 * 5 * 28);
  EXPECT_EQ(counts->splats, 3 * 5 * 28);
  EXPECT_EQ(counts->vector_loads, 3 * 5 * 2);
  EXPECT_EQ(counts->vector_stores, 3 * 28);
  EXPECT_EQ(b[2], std::vector<float>(3 * 14 * 32, 10.0f));
}

// Lanes add one after the other, and each gets the value from before its addition.
TEST(Interpret, adds_atomically) {
  Kernel k;
  k.name = "k";
  k.buffers = {{"sums", DType::i32, 6, Scope::global, true}};
  k.index_names = {"group"};
  k.groups = 3;
  k.registers = {{"before", DType::i32, 4}};
  Value two = constant_of(2, 4);
  two.dtype = DType::i32;
  k.body = {{Declare{{0}}}, {AtomicAdd{0, 0, {}, 0, two}}, {AtomicAdd{-1, 0, constant(1), 1, [] {
                                                                        Value v =
                                                                            testing::reg(0, 4);
                                                                        v.dtype = DType::i32;
                                                                        return v;
                                                                      }()}}};
  Buffers b{std::vector<float>(6)};
  const auto counts = interpret(k, b);
  ASSERT_TRUE(counts.ok()) << render(counts.diags());
  // Lanes find 0 2 4 6, then 8 more each time.
  EXPECT_THAT(b[0], ::testing::ElementsAre(24, 24, 30, 36, 42, 0));
  k.buffers[0].written = false;
  EXPECT_THAT(render(verify(k)), HasSubstr("'sums' is added to but not marked written"));
}

// A group that sees all arrive needs one poll. One that can not uses up its polls and gives up.
TEST(Interpret, device_barriers_end) {
  const auto left = [](const Kernel& k) {
    Buffers b{std::vector<float>(static_cast<size_t>(k.groups)), std::vector<float>(1)};
    const auto counts = interpret(k, b);
    EXPECT_TRUE(counts.ok()) << render(counts.diags());
    EXPECT_EQ(b[1][0], static_cast<float>(k.groups * 5)) << "all have come each time";
    return b[0];
  };
  EXPECT_THAT(left(testing::barriers_of_all(1, 5, 1, 100)), ::testing::ElementsAre(95));
  EXPECT_THAT(left(testing::barriers_of_all(1, 5, 1, 5)), ::testing::ElementsAre(0));
  EXPECT_THAT(left(testing::barriers_of_all(1, 5, 2, 100)), ::testing::ElementsAre(0));
  EXPECT_THAT(left(testing::barriers_of_all(2, 5, 2, 100)), ::testing::ElementsAre(0, 99))
      << "one after the other: only the last finds that all have come";
}

TEST(Interpret, device_barriers_are_verified) {
  Kernel k = testing::barriers_of_all(1, 5, 1, 100);
  k.buffers[1].written = false;
  EXPECT_THAT(render(verify(k)), HasSubstr("'come' is added to but not marked written"));
  k = testing::barriers_of_all(1, 5, 1, 100);
  k.registers[1].dtype = DType::f32;
  EXPECT_THAT(render(verify(k)),
              HasSubstr("register 'looks' counts looks: one number of type i32"));
  k = testing::barriers_of_all(1, 5, 1, 100);
  k.buffers[1].scope = Scope::scratch;
  EXPECT_THAT(render(verify(k)), HasSubstr("groups meet in memory that all of them reach"));
}

std::string fault_of(const Kernel& k, Buffers b) {
  const auto r = interpret(k, b);
  return r.ok() ? "" : render(r.diags());
}

Kernel one(Value value, int64_t groups = 1) {
  Kernel k;
  k.name = "k";
  k.buffers = {input("x", 20), output("y", 20)};
  k.index_names = {"group"};
  k.groups = groups;
  k.body = {store(1, {}, std::move(value))};
  return k;
}

// Each wave of a group reads the row that the next one staged, after a barrier.
TEST(Interpret, waves_synchronise_at_barriers) {
  constexpr int64_t kSteps = 4, kGroups = 2;
  const auto run = [](const Kernel& k) {
    std::vector<std::vector<float>> buffers{std::vector<float>(48 * kSteps * kGroups),
                                            std::vector<float>(48 * kGroups)};
    for (size_t i = 0; i < buffers[0].size(); ++i) buffers[0][i] = static_cast<float>(i * i % 101);
    EXPECT_TRUE(interpret(k, buffers).ok());
    int wrong = 0;
    for (size_t g = 0; g < kGroups; ++g)
      for (size_t w = 0; w < 3; ++w)
        for (size_t l = 0; l < 16; ++l) {
          float sum = 0;
          for (size_t s = 0; s < kSteps; ++s)
            sum += 0.5F * buffers[0][(g * kSteps + s) * 48 + (w + 1) % 3 * 16 + 15 - l];
          wrong += buffers[1][g * 48 + w * 16 + l] != sum;
        }
    return wrong;
  };
  const Kernel k = rotate(kSteps, kGroups);
  EXPECT_EQ(run(k), 0);
  for (const ptrdiff_t at : {1, 3}) {
    Kernel without = k;
    Block& steps = std::get<For>(without.body[2].node).body;
    steps.erase(steps.begin() + at);
    EXPECT_GT(run(without), 0) << "without the barrier at " << at;
  }
}

TEST(Interpret, names_an_access_outside_its_buffer) {
  const Buffers b{numbers(20), numbers(20)};
  EXPECT_EQ(fault_of(one(load(0, variable(0, 3), 16), 3), b),
            "error: kernel 'k': load from 'x' at element 20 (from 3*group in group 2): the buffer "
            "has 20\n");
  EXPECT_THAT(fault_of(one(gather(0, {}, -1, 4)), b), HasSubstr("load from 'x' at element -1"));
  EXPECT_EQ(fault_of(one(load(0, ir::constant(10), 16, 10)), b), "");
}

TEST(Interpret, refuses_arguments_that_do_not_fit) {
  EXPECT_THAT(fault_of(copy(16), {numbers(16)}), HasSubstr("it takes 2 arguments, was given 1"));
  EXPECT_THAT(fault_of(copy(16), {numbers(16), numbers(3)}),
              HasSubstr("'y' has 16 elements, was given 3"));
  Kernel k = copy(16);
  k.buffers[0].dtype = ir::DType::boolean;
  EXPECT_THAT(fault_of(k, {numbers(16), numbers(16)}),
              HasSubstr("elements of type bool, which are not interpreted"));
}

TEST(Interpret, a_guard_evaluates_only_the_chosen_value) {
  Buffers b{numbers(20), numbers(20)};
  const Value outside =
      guard({{variable(0), 1, 5}}, load(0, ir::constant(1000), 4), constant_of(7, 4));
  const auto r = interpret(one(outside), b);
  ASSERT_TRUE(r.ok()) << render(r.diags());
  EXPECT_EQ(b[1][3], 7.0f);
  EXPECT_EQ(r->vector_loads, 0);
}

TEST(Interpret, lanes) {
  const auto lanes_of = [](const Value& v) {
    Buffers b{numbers(20), std::vector<float>(20, -1.0f)};
    const auto r = interpret(one(v), b);
    EXPECT_TRUE(r.ok());
    return std::vector<float>(b[1].begin(), b[1].begin() + 4);
  };
  using V = std::vector<float>;
  Value part = load(0, ir::constant(2), 4, 2);
  part.number = 9;
  EXPECT_EQ(lanes_of(part), (V{3, 4, 9, 9}));
  EXPECT_EQ(lanes_of(splat(0, ir::constant(4), 4)), (V{5, 5, 5, 5}));
  EXPECT_EQ(lanes_of(gather(0, ir::constant(1), 3, 4)), (V{2, 5, 8, 11}));
  Value index = constant_of(0, 4);
  index.op = ValueOp::lane_index;
  index.index = ir::constant(3);
  index.stride = 2;
  EXPECT_EQ(lanes_of(index), (V{3, 5, 7, 9}));
  EXPECT_EQ(lanes_of(op(ValueOp::select, {op(ValueOp::less, {load(0, {}, 4), constant_of(2.5, 4)}),
                                          constant_of(1, 4), load(0, {}, 4)})),
            (V{1, 1, 3, 4}));
}

TEST(Interpret, max_and_min_let_nan_through_from_either_side) {
  const float nan = std::nanf("");
  const Value x = load(0, {}, 4), y = load(0, ir::constant(4), 4);
  for (const ValueOp o : {ValueOp::max, ValueOp::min}) {
    Buffers b{{nan, 1, nan, 2, 1, nan, nan, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, numbers(20)};
    ASSERT_TRUE(interpret(one(op(o, {x, y})), b).ok());
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(b[1][i])) << i;
    EXPECT_EQ(b[1][3], o == ValueOp::max ? 3.0f : 2.0f);
  }
}

TEST(Interpret, registers_are_nan_until_written_and_fma_rounds_once) {
  Kernel k = one(reg(0, 1));
  k.registers = {{"r", ir::DType::f32, 1}};
  k.body.insert(k.body.begin(), declare({0}));
  Buffers b{numbers(20), numbers(20)};
  ASSERT_TRUE(interpret(k, b).ok());
  EXPECT_TRUE(std::isnan(b[1][0]));
  const double e =
      std::ldexp(1.0, -13);  // (1 + e)(1 - e) - 1 = -e^2, lost when the product is rounded first
  ASSERT_TRUE(interpret(one(op(ValueOp::fma,
                               {constant_of(1 + e, 1), constant_of(1 - e, 1), constant_of(-1, 1)})),
                        b)
                  .ok());
  EXPECT_EQ(b[1][0], static_cast<float>(-e * e));
}

}  // namespace
}  // namespace assay::codegen
