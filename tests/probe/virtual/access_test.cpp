// Memory access, found on simulated chips: the profile's values, an interval around them, or
// unknown.
#include <gtest/gtest.h>

#include "tests/probe/virtual/found.h"

namespace assay::probe {
namespace {

using testing::level;

// The experiments on access, and what they need.
const hwdesc::Profile& found(const std::string& name) {
  return testing::found_of(
      testing::chip_file(name),
      {"checks", "clock", "line", "chase", "knees", "fma", "waves", "units", "sharing", "bandwidth",
       "far", "outstanding", "ways", "transfer", "scratch", "write_policy"},
      int64_t{24} << 20);
}

template <class Q>
void expect_told(const hwdesc::Value<Q>& v, double truth) {
  testing::expect_told(v, truth, 0.03);
}

// Not measured, but not contradicted.
template <class Q>
void expect_open(const hwdesc::Value<Q>& v, double truth) {
  ASSERT_TRUE(v.known() && v.low && v.high) << v.note;
  EXPECT_LE(v.low->v, truth * 1.001);
  EXPECT_GE(v.high->v, truth);
  EXPECT_FALSE(v.note.empty());
}

TEST(AccessOfCores, outstanding_misses) {
  expect_open(level(found("access-core"), "l2").outstanding.lines,
              9);  // at 16 cycles and 32 B a cycle no more than 8 are outstanding
  expect_told(level(found("access-core"), "dram").outstanding.lines, 7);
}

TEST(AccessOfCores, ways) {
  EXPECT_EQ(level(found("access-core"), "l1").ways.value->v, 6);
  EXPECT_EQ(level(found("access-core"), "l2").ways.value->v, 10);
}

// 96 entries, and 2048 in 8 ways: rows of some lengths conflict in its sets.
TEST(AccessOfCores, translation) {
  const hwdesc::Profile& p = testing::found_of(
      "generic/x86-avx512-2core", {"checks", "clock", "line", "tlb"}, int64_t{128} << 20);
  ASSERT_EQ(p.tlb.size(), 2u);
  expect_told(p.tlb[0].miss, 7);
  EXPECT_NEAR(p.tlb[0].entries.value->v, 96, 6);
  expect_told(p.tlb[1].miss, 30);
  EXPECT_LT(p.tlb[1].entries.low->v, 1100);
  EXPECT_GT(p.tlb[1].entries.high->v, 2048);
  EXPECT_LT(p.tlb[1].entries.high->v, 2700);
}

double slots_across(const hwdesc::Profile& p) {
  for (const hwdesc::ComputeOp& c : p.compute)
    if (c.op == "across") return c.slots.value->v;
  return 0;
}

TEST(AccessOfCores, transfers) {
  for (const char* name : {"l1", "l2", "dram"}) {
    EXPECT_EQ(level(found("access-core"), name).line.value->v, 64) << name;
    EXPECT_EQ(level(found("access-core"), name).transaction.value->v, 64) << name;
  }
  EXPECT_NEAR(slots_across(found("access-core")), 2, 0.1);  // a vector in each of two lines
}

TEST(AccessOfWaves, transfers) {
  for (const char* name : {"l1", "l2", "dram"}) {
    EXPECT_EQ(level(found("access-waves"), name).line.value->v, 128) << name;
    EXPECT_EQ(level(found("access-waves"), name).transaction.value->v, 32) << name;
  }
  EXPECT_GT(slots_across(found("access-waves")), 1.9);
}

TEST(AccessOfWaves, a_scratchpad) {
  const hwdesc::MemoryLevel& own = level(found("access-waves"), "local");
  expect_told(own.banks.count, 16);
  EXPECT_EQ(own.backed_by, "");
  EXPECT_EQ(level(found("access-emulated"), "local").backed_by, "dram");
}

TEST(AccessOfCores, write_policy) {
  EXPECT_EQ(level(found("access-core"), "l1").write, hwdesc::WritePolicy::allocate);
  EXPECT_EQ(level(found("access-core"), "l2").write, hwdesc::WritePolicy::allocate);
}

TEST(AccessOfWaves, write_policy) {
  EXPECT_EQ(level(found("access-waves"), "l1").write, hwdesc::WritePolicy::through);
  EXPECT_EQ(level(found("access-waves"), "l2").write, hwdesc::WritePolicy::allocate);
  EXPECT_EQ(level(found("access-emulated"), "l1").write, hwdesc::WritePolicy::around);
}

TEST(AccessOfWaves, ways) {
  EXPECT_EQ(level(found("access-waves"), "l1").ways.value->v, 4);
  EXPECT_EQ(level(found("access-waves"), "l2").ways.value->v, 16);
}

TEST(AccessOfWaves, outstanding_misses) {
  expect_told(level(found("access-waves"), "dram").outstanding.lines, 64);
}

}  // namespace
}  // namespace assay::probe
