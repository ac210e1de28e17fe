// Operations on f16, bf16 and i8, and matrix instructions, of simulated chips: their profiles are
// found again, and what they lack is unknown, with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/virtual/found.h"

namespace assay::probe {
namespace {

const hwdesc::Profile& found(const std::string& name) {
  return testing::found_of(testing::chip_file(name),
                           {"checks", "clock", "fma", "units", "waves", "types", "matrix"},
                           int64_t{8} << 20);
}

const hwdesc::ComputeOp& operation(const hwdesc::Profile& p, const std::string& op,
                                   const std::string& dtype) {
  for (const hwdesc::ComputeOp& c : p.compute)
    if (c.op == op && c.dtype == dtype) return c;
  throw std::runtime_error(p.name + " has no " + op + "." + dtype);
}

template <class Q>
void expect_told(const hwdesc::Value<Q>& v, double truth, double tolerance = 0.05) {
  testing::expect_told(v, truth, tolerance);
}

TEST(NarrowTypes, are_found_as_they_are) {
  const hwdesc::Profile& p = found("narrow-waves");
  for (const auto& [op, dtype, slots, latency] : {std::tuple{"fma", "f16", 0.5, 6.0},
                                                  {"fma", "bf16", 1.0, 7.0},
                                                  {"fma", "i8", 2.0, 5.0},
                                                  {"dot", "i8", 1.0, 5.0}}) {
    SCOPED_TRACE(std::string(op) + "." + dtype);
    expect_told(operation(p, op, dtype).slots, slots);
    expect_told(operation(p, op, dtype).latency, latency);
  }
  EXPECT_THAT(operation(p, "fma", "f16").slots.method, ::testing::HasSubstr("of pairs"));
}

TEST(NarrowTypes, that_a_chip_lacks_are_unknown) {
  const hwdesc::Profile& p = found("waves-of-32");
  for (const char* dtype : {"f16", "bf16", "i8"}) {
    EXPECT_FALSE(operation(p, "fma", dtype).slots.known());
    EXPECT_EQ(operation(p, "fma", dtype).slots.note,
              std::string("neither the device nor its language computes with ") + dtype + " here");
  }
  EXPECT_TRUE(p.instructions.empty());
}

// The chip has two more, which no kernel of ours uses.
TEST(MatrixInstructions, are_found_as_they_are) {
  const hwdesc::Profile& p = found("narrow-waves");
  ASSERT_EQ(p.instructions.size(), 2U) << "f64, and operands that no lane holds, are not tried";
  EXPECT_EQ(p.instructions[0].use, "isa/sm80.mma.m16n8k16.f16.f32");
  expect_told(p.instructions[0].rate, 1024);
  expect_told(p.instructions[0].latency, 33);
  EXPECT_EQ(p.instructions[1].use, "isa/sm80.mma.m16n8k32.i8.i32");
  expect_told(p.instructions[1].rate, 2048);
  expect_told(p.instructions[1].latency, 28);
}

}  // namespace
}  // namespace assay::probe
