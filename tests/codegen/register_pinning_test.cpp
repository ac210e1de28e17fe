// Which loads are pinned to registers, and how a dialect spells it.
#include "codegen/register_pinning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernels.h"
#include "tests/codegen/printed.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kLanes = 8;

// Sums over i of x[i] * r and x[i + 1] * r, with r = `from` in register 2. uses = 1: only the
// first.
Kernel two_sums(Value from, int uses = 2) {
  Kernel k;
  k.name = "sums";
  k.buffers = {input("x", 800), output("y", 16)};
  k.index_names = {"group", "i"};
  k.registers = {{"a", DType::f32, kLanes}, {"b", DType::f32, kLanes}, {"r", DType::f32, kLanes}};
  Block body{declare({2}), assign(2, std::move(from))};
  for (int n = 0; n < uses; ++n)
    body.push_back(assign(
        n, op(ValueOp::fma, {splat(0, variable(1) + n, kLanes), reg(2, kLanes), reg(n, kLanes)})));
  k.body = {declare({0, 1}),
            assign(0, constant_of(0, kLanes)),
            assign(1, constant_of(0, kLanes)),
            loop(1, 90, std::move(body)),
            store(1, {}, reg(0, kLanes)),
            store(1, ir::constant(kLanes), reg(1, kLanes))};
  return k;
}

TEST(RegisterPinning, pins_a_load_that_two_operations_use) {
  const Value moved = load(0, variable(1, kLanes), kLanes);
  EXPECT_EQ(pinned_registers(two_sums(moved)), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(
      pinned_registers(two_sums(guard({{variable(1), 0, 88}}, moved, constant_of(0, kLanes)))),
      (std::vector<bool>{false, false, true}));
  EXPECT_EQ(pinned_registers(two_sums(splat(0, variable(1), kLanes))),
            (std::vector<bool>{false, false, true}));
}

TEST(RegisterPinning, not_single_uses_invariants_or_computed_values) {
  const std::vector<bool> none{false, false, false};
  const Value moved = load(0, variable(1, kLanes), kLanes);
  EXPECT_EQ(pinned_registers(two_sums(moved, 1)), none);
  EXPECT_EQ(pinned_registers(two_sums(load(0, variable(0, kLanes), kLanes))), none);
  EXPECT_EQ(pinned_registers(two_sums(op(ValueOp::add, {moved, moved}))), none);
  Kernel twice = two_sums(moved);
  std::get<For>(twice.body[3].node).body.push_back(assign(2, moved));
  EXPECT_EQ(pinned_registers(twice), none);
}

TEST(RegisterPinning, is_printed_if_the_dialect_spells_it) {
  const Kernel kernel = two_sums(load(0, variable(1, kLanes), kLanes));
  EXPECT_THAT(printed_in(kernel, "cpp"),
              HasSubstr("r2_r = pinned<f32x8>(*(const f32x8_mem*)(p0_x + i1_i * 8));"));
  EXPECT_THAT(printed_in(kernel, "cpp"), HasSubstr("V pinned(V v)"));
  EXPECT_THAT(printed_in(two_sums(load(0, {}, kLanes)), "cpp"), Not(HasSubstr("pinned")));
  EXPECT_THAT(printed_in(kernel, "cuda"), Not(HasSubstr("pin")));
}

}  // namespace
}  // namespace assay::codegen
