#include "probe/inference/merge_levels.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::probe {
namespace {

using namespace hwdesc;

MemoryLevel cache(const std::string& name, double kib, double nanoseconds, double gigabytes,
                  const std::string& per = "device") {
  MemoryLevel l;
  l.name = name;
  l.per = per;
  l.capacity.value = Bytes{kib * 1024};
  l.knee.from.value = Bytes{kib * 900};
  l.knee.to.value = Bytes{kib * 1200};
  l.latency.value = Latency{nanoseconds * 1e-9, ""};
  if (gigabytes > 0) l.bandwidth.read.value = Bandwidth{gigabytes * 1e9, ""};
  return l;
}

std::vector<std::string> names(const std::vector<MemoryLevel>& m) {
  std::vector<std::string> out;
  for (const MemoryLevel& l : m) out.push_back(l.name);
  return out;
}

TEST(MergeLevels, DistinctLevelsStay) {
  std::vector<MemoryLevel> m = {cache("l1", 48, 1, 900, "unit"), cache("l2", 2048, 4, 300, "unit"),
                                cache("l3", 32768, 30, 90)};
  const std::vector<MemoryLevel> before = m;
  join_levels(m, 4e9, 2);
  EXPECT_EQ(m, before);
}

TEST(MergeLevels, SimilarLatencyOrBandwidthOrUnknownBandwidthIsOneCache) {
  std::vector<MemoryLevel> m = {cache("l1", 48, 1, 900, "unit"), cache("l2", 2048, 4, 300, "unit"),
                                cache("l3", 4096, 33, 37), cache("l4", 9000, 36, 0),
                                cache("l5", 43000, 60, 58)};
  MemoryLevel far = cache("dram", 1e7, 140, 34);
  far.managed = Managed::explicit_;
  m.push_back(far);
  join_levels(m, 4e9, 2);
  ASSERT_EQ(names(m), (std::vector<std::string>{"l1", "l2", "l3", "dram"}));
  EXPECT_DOUBLE_EQ(m[2].capacity.value->v, 43000.0 * 1024);
  EXPECT_DOUBLE_EQ(m[2].knee.from.value->v, 4096.0 * 900);
  EXPECT_DOUBLE_EQ(m[2].knee.to.value->v, 43000.0 * 1200);
  EXPECT_DOUBLE_EQ(m[2].bandwidth.read.value->v, 58e9);
}

TEST(MergeLevels, DeclaredLevelsAreNotMerged) {
  const std::vector<MemoryLevel> all = {cache("l1", 48, 1, 900, "unit"),
                                        cache("l2", 1024, 4, 300, "unit"),
                                        cache("l3", 32768, 12, 590)};
  std::vector<MemoryLevel> m = all;
  join_levels(m, 4e9, 2, {}, 3);
  EXPECT_EQ(m, all);
  join_levels(m, 4e9, 2, {}, 2);
  EXPECT_EQ(m.size(), 2U);
}

TEST(MergeLevels, ACacheAsSlowAsTheNextLevelWasDisturbed) {
  MemoryLevel far = cache("dram", 1e7, 143, 34);
  far.managed = Managed::explicit_;
  std::vector<MemoryLevel> m = {cache("l1", 48, 1, 900, "unit"), cache("l2", 1024, 4, 300, "unit"),
                                cache("l3", 32768, 149, 590), far};
  join_levels(m, 4e9, 2, {}, 3);
  ASSERT_EQ(m.size(), 4U);
  EXPECT_FALSE(m[2].latency.known());
  EXPECT_NE(m[2].latency.note.find("149 ns"), std::string::npos);
  EXPECT_TRUE(m[1].latency.known());
  m[2].latency.value = Latency{100e-9, ""};
  join_levels(m, 4e9, 2, {}, 3);
  EXPECT_TRUE(m[2].latency.known());
}

TEST(MergeLevels, CyclesAndUnitsAreConsidered) {
  MemoryLevel near = cache("l1", 48, 1, 0, "unit"), far = cache("l2", 2048, 4, 0, "unit");
  near.bandwidth.read.value = Bandwidth{32, "core"};  // 2 units x 32 x 4 GHz = 256 GB/s
  far.bandwidth.read.value = Bandwidth{16, "core"};
  std::vector<MemoryLevel> m = {near, far, cache("l3", 32768, 30, 120)};
  join_levels(m, 4e9, 2);
  EXPECT_EQ(m.size(), 3U);
  m[2].bandwidth.read.value = Bandwidth{140e9, ""};
  join_levels(m, 4e9, 2);
  EXPECT_EQ(m.size(), 2U);
}

// Sectors of a line are fetched one by one, so that the knee has a foot and a shoulder; between
// them the curve jumps.
TEST(MergeLevels, ASuddenStepIsTwoCachesThoughEquallyFast) {
  const auto joined = [](double steepness) {
    std::vector<MemoryLevel> m = {cache("l1", 128, 18, 900), cache("l2", 6144, 44, 900),
                                  cache("dram", 1e7, 400, 300)};
    m.back().managed = Managed::explicit_;
    std::vector<CurvePoint> chase;
    for (double kib = 64; kib < 256; kib *= 1.04)
      chase.push_back(
          {kib * 1024, (18 + 26 / (1 + std::exp(-steepness * std::log2(kib / 132)))) * 1e-9});
    join_levels(m, 4e9, 2, {}, 0, chase);
    return names(m);
  };
  EXPECT_EQ(joined(25).size(), 3u);
  EXPECT_EQ(joined(6), (std::vector<std::string>{"l1", "dram"})) << "smeared by others";
}

// A chase has a step at 4 MiB and bandwidths differ by a tenth; streams are equally fast up to 16
// MiB.
TEST(MergeLevels, LevelsThatStreamAlikeAreOneCacheIfUnitsShareIt) {
  const auto joined = [](double step, const std::string& per) {
    std::vector<MemoryLevel> m = {cache("l1", 48, 1, 900, "unit"), cache("l2", 1024, 4, 400, per),
                                  cache("l3", 4096, 12, 240, per), cache("l4", 16384, 30, 215, per),
                                  cache("dram", 1e7, 140, 34)};
    m.back().managed = Managed::explicit_;
    Sweep sweep{{}, 1};
    for (double kib = 16; kib < 1 << 17; kib *= std::exp2(0.25)) {
      const double t = kib < 50      ? 1 / 900e9
                       : kib < 1100  ? 1 / 400e9
                       : kib < 4200  ? 1 / 240e9
                       : kib < 18000 ? step / 240e9
                                     : 1 / 34e9;
      sweep.curve.push_back({kib * 1024, t});
    }
    join_levels(m, 4e9, 1, sweep);
    return names(m);
  };
  EXPECT_EQ(joined(1.1, "device"), (std::vector<std::string>{"l1", "l2", "l3", "dram"}));
  EXPECT_EQ(joined(1.5, "device").size(), 5u);
  EXPECT_EQ(joined(1.1, "unit").size(), 5u)
      << "prefetchers may hide the step between caches of a unit's own";
}

}  // namespace
}  // namespace assay::probe
