// Data that another unit wrote last comes out of its cache.
#include <gtest/gtest.h>

#include "programs.h"

namespace assay::test {
namespace {

constexpr double kHanded = 1e9;  // bytes/s

model::Machine two_units(double handed) {
  hwdesc::Target t = small_cpu(8, 2);
  for (hwdesc::MemoryLevel& l : t.profile.memory)
    if (l.name == "l2" && handed > 0) l.bandwidth.handed.value = hwdesc::Bandwidth{handed, ""};
  return machine(t);
}

// Columns are dealt out, and every unit reads all of the left operand.
double seconds(const model::Machine& m, const simulator::CacheState::Entry& left) {
  const ir::Program p = product(8, 64, 128, 32);
  simulator::CacheState state;
  state.recent = {left};
  const std::vector<int> keys = {0, 1, 2};
  return simulator::estimate(p, m, state, keys).seconds;
}

constexpr double kLeft = 8 * 128 * 4;  // bytes

TEST(Handed, HalfOfWhatAllReadWasWrittenByTheOtherUnit) {
  const model::Machine m = two_units(kHanded);
  ASSERT_DOUBLE_EQ(m.handed.value, kHanded);
  const double read = seconds(m, {0, kLeft, kLeft / 2, 0, false}), written = seconds(m, {0, kLeft, kLeft / 2, 0, true});
  EXPECT_NEAR(written - read, kLeft / 2 / kHanded, 0.1 * kLeft / 2 / kHanded);
}

TEST(Handed, NothingWhereEachWroteAllOrItHasLeftTheCachesOrIsNotKnown) {
  const model::Machine m = two_units(kHanded), silent = two_units(0);
  for (const simulator::CacheState::Entry& e : {simulator::CacheState::Entry{0, kLeft, kLeft, -1, true}, {0, kLeft, 1e9, 0, true}}) {
    simulator::CacheState::Entry read = e;
    read.written = false;
    EXPECT_DOUBLE_EQ(seconds(m, e), seconds(m, read));
  }
  const simulator::CacheState::Entry e{0, kLeft, kLeft / 2, 0, true};
  EXPECT_LT(seconds(silent, e), seconds(m, e));
}

TEST(Handed, AMemoryWithNothingBehindItHandsNothingOver) {
  hwdesc::Target t = small_cpu(8, 2);
  std::erase_if(t.profile.memory, [](const hwdesc::MemoryLevel& l) { return l.name != "l2"; });
  ASSERT_EQ(t.profile.memory.size(), 1U);
  const double silent = seconds(machine(t), {0, kLeft, kLeft / 2, 0, true});
  t.profile.memory[0].bandwidth.handed.value = hwdesc::Bandwidth{kHanded, ""};
  EXPECT_DOUBLE_EQ(seconds(machine(t), {0, kLeft, kLeft / 2, 0, true}), silent);
}

TEST(Handed, AProgramLeavesWhatItWroteInTheCaches) {
  const ir::Program p = product(8, 64, 128, 32);
  const std::vector<int> keys = {0, 1, 2};
  for (const simulator::CacheState::Entry& e : simulator::after(p, two_units(kHanded), {}, keys).recent) EXPECT_EQ(e.written, e.key == 2);
}

}  // namespace
}  // namespace assay::test
