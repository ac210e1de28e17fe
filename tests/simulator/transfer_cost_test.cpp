// Concurrent reads and writes.
#include <gtest/gtest.h>

#include "model/bandwidth.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

TEST(TransferCost, PairsOfBytesOverlapTheRestIsAlone) {
  const model::TransferCost pace{1, 2, 2.5};
  EXPECT_DOUBLE_EQ(pace.seconds(10, 0), 10);
  EXPECT_DOUBLE_EQ(pace.seconds(0, 10), 20);
  EXPECT_DOUBLE_EQ(pace.seconds(10, 10), 25);
  EXPECT_DOUBLE_EQ(pace.seconds(10, 4), 16);
  const model::TransferCost slower = pace.slowed(2, 1);
  EXPECT_DOUBLE_EQ(slower.seconds(10, 0), 20);
  EXPECT_DOUBLE_EQ(slower.seconds(0, 10), 20);
  EXPECT_DOUBLE_EQ(slower.seconds(3, 3), 3 * 2.5 * 4 / 3) << "as much slower as both together";
}

// A copy within the second cache takes its measured copy bandwidth, loads and stores included.
TEST(TransferCost, ACopyTakesTheMeasuredCopyBandwidth) {
  hwdesc::Target target = small_cpu(4, 1);
  target.profile.memory[1].capacity.value = hwdesc::Bytes{4 << 20};
  target.profile.memory[2].capacity.value = hwdesc::Bytes{16 << 20};
  target.profile.memory[0].bandwidth.read.value = hwdesc::Bandwidth{128, "core"};
  target.profile.memory[0].bandwidth.write.value = hwdesc::Bandwidth{128, "core"};
  target.profile.memory[1].bandwidth.read.value = hwdesc::Bandwidth{2, "core"};
  target.profile.memory[1].bandwidth.write.value = hwdesc::Bandwidth{2, "core"};
  target.api.launch.stream.value = hwdesc::Seconds{0};
  const ir::Program p = walk(2048, 1, 16, "j", "i, j", "i, j");
  const int64_t bytes = 64 * 2048 * 4;
  const auto seconds = [&](double copy) {
    target.profile.memory[1].bandwidth.copy.value = hwdesc::Bandwidth{copy, "core"};
    simulator::CacheState state;
    std::vector<simulator::Range> where;
    for (int64_t i = 0; i < 2; ++i) {
      where.push_back({i * bytes, (i + 1) * bytes});
      const simulator::UnitPartition whole{i * bytes, bytes, 1};
      state.recent.push_back({where.back(), double(bytes), whole, whole, i == 1});
    }
    return simulator::estimate(p, machine(target), state, where).seconds;
  };
  const double clock = machine(target).clock, set_conflicts = 2.0 * double(bytes) / 2 / clock;
  EXPECT_NEAR(seconds(2), set_conflicts, 0.02 * set_conflicts);
  EXPECT_NEAR(seconds(4), set_conflicts / 2, 0.02 * set_conflicts) << "they overlap";
}

}  // namespace
}  // namespace assay::test
