// Bytes that simulated caches move: of streams whose bytes are known.
#include "tests/runtime/virtual_chip.h"

namespace assay::runtime {
namespace {

using testing::Chip;

constexpr double kBlock = 4096, kPasses = 8;

// Each kernel reads a few parameters as well; passes that are skipped count as the last one.
void expect_bytes(double counted, double wanted) {
  EXPECT_NEAR(counted, wanted, 0.01 * wanted + 1024);
}

struct Moved {
  Crossing near, far;
};

Moved stream(const std::string& access, int64_t blocks, int units, const char* profile) {
  Chip chip(profile);
  chip.stream(access, blocks, units, static_cast<int64_t>(kPasses));
  EXPECT_EQ(chip.moved().size(), 2U);
  EXPECT_EQ(chip.moved()[0].boundary, "l1<-l2");
  EXPECT_EQ(chip.moved()[1].boundary, "l2<-dram");
  return {chip.moved()[0], chip.moved()[1]};
}

TEST(VirtualTraffic, DataBeyondACacheCrossesItsBoundaryInEachPass) {
  for (const int units : {1, 2}) {
    const Moved large = stream("read_16", 100, units, testing::kSmallChip);
    expect_bytes(large.far.read, 100 * kBlock * units * kPasses);
    expect_bytes(large.near.read, 100 * kBlock * units * kPasses);
    expect_bytes(large.far.written, 0);
    const Moved shared = stream("read_16", 6, units, testing::kSmallChip);
    expect_bytes(shared.far.read, 0);
    expect_bytes(shared.near.read, 6 * kBlock * units * kPasses);
    const Moved own = stream("read_16", 2, units, testing::kSmallChip);
    expect_bytes(own.near.read, 0);
  }
}

TEST(VirtualTraffic, AStoreThatMissesCountsItsLineOnce) {
  const Moved written = stream("write_16", 100, 2, testing::kSmallChip);
  expect_bytes(written.far.written, 200 * kBlock * kPasses);
  expect_bytes(written.far.read, 0);
  const Moved copied = stream("copy_16", 100, 2, testing::kSmallChip);
  expect_bytes(copied.far.written, 200 * kBlock * kPasses);
  expect_bytes(copied.far.read, 200 * kBlock * kPasses);
}

// Equal launches are not simulated again, and moved what they did before.
TEST(VirtualTraffic, OfRepeatedLaunches) {
  Chip chip;
  const int area = chip.buffer(400 * 4096);
  const Launch l = chip.launch("read_16", {{area, 0}, chip.parameters({1, 200, 0})}, {{0, 0, 1}});
  for (int run = 0; run < 6; ++run) {
    chip.ticks(l);
    expect_bytes(chip.moved()[1].read, 200 * kBlock);
  }
}

}  // namespace
}  // namespace assay::runtime
