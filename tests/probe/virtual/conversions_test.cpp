// Loads and stores that convert, of simulated chips: found as they are where they show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/virtual/found.h"

namespace assay::probe {
namespace {

hwdesc::Value<hwdesc::Count> slots_found(const std::string& chip, const std::string& op,
                                         const std::string& dtype) {
  const hwdesc::Profile& p = testing::found_of(
      testing::chip_file(chip), {"checks", "clock", "fma", "units", "waves", "conversions"},
      int64_t{8} << 20);
  for (const hwdesc::ComputeOp& c : p.compute)
    if (c.op == op && c.dtype == dtype) return c.slots;
  throw std::runtime_error(chip + " has no " + op + "." + dtype);
}

TEST(ProbedConversions, AreFoundAsTheyAre) {
  for (const auto& [op, dtype, slots] : {std::tuple{"convert_load", "f16", 2.0},
                                         {"convert_load", "i8", 4.0},
                                         {"convert_load_i32", "i8", 3.0},
                                         {"convert_splat", "f16", 5.0},
                                         {"convert_store", "bf16", 8.0},
                                         {"convert_store", "i8", 6.0}}) {
    SCOPED_TRACE(std::string(op) + "." + dtype);
    testing::expect_told(slots_found("converting-core", op, dtype), slots, 0.05);
  }
}

TEST(ProbedConversions, BehindTheAccessAreUnknown) {
  const auto hidden = slots_found("converting-core", "convert_load", "bf16");
  EXPECT_FALSE(hidden.known());
  EXPECT_THAT(hidden.note, ::testing::HasSubstr("hidden behind the access: at most 1"));
}

TEST(ProbedConversions, OfThreadsAreFound) {
  testing::expect_told(slots_found("narrow-waves", "convert_load", "i8"), 6, 0.05);
  EXPECT_FALSE(slots_found("narrow-waves", "convert_load", "f16").known());
}

}  // namespace
}  // namespace assay::probe
