// What a wave's load costs by its lanes' addresses: figures by hand, from how banks and lines are
// numbered.
#include "model/lane_addresses.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace assay::test {
namespace {

std::vector<int64_t> lanes(const std::function<int64_t(int)>& at) {
  std::vector<int64_t> out;
  for (int l = 0; l < 32; ++l) out.push_back(at(l));
  return out;
}

double banks(int width, const std::function<int64_t(int)>& at) {
  return model::bank_cycles(lanes(at), width, 32);
}

TEST(LaneAddresses, EachBankServesOneWordACycle) {
  EXPECT_EQ(banks(1, [](int l) { return l; }), 1);
  EXPECT_EQ(banks(1, [](int l) { return 100 + l; }), 1) << "wherever they begin";
  EXPECT_EQ(banks(1, [](int l) { return 2 * l; }), 2) << "sixteen banks, two words of each";
  EXPECT_EQ(banks(1, [](int l) { return 33 * l; }), 1) << "rows that are padded by a word";
  EXPECT_EQ(banks(1, [](int l) { return 32 * l; }), 32);
  EXPECT_EQ(banks(1, [](int l) { return l / 2 * 32; }), 16) << "one word for two lanes";
  EXPECT_EQ(banks(1, [](int) { return 7; }), 1) << "one word for all";
}

TEST(LaneAddresses, WideLoadsComeInPhases) {
  EXPECT_EQ(banks(4, [](int l) { return 4 * l; }), 4) << "128 words";
  EXPECT_EQ(banks(2, [](int l) { return 2 * l; }), 2) << "64 words";
  EXPECT_EQ(banks(4, [](int l) { return 8 * l; }), 8) << "8 lanes of a phase: 16 banks twice";
}

// Where each lane agrees with a neighbour, or with the one after it, two phases are one.
TEST(LaneAddresses, PairsOfLanesMergePhases) {
  EXPECT_EQ(banks(4, [](int) { return 0; }), 2);
  EXPECT_EQ(banks(2, [](int) { return 0; }), 1);
  EXPECT_EQ(banks(4, [](int l) { return l / 8 * 4; }), 2) << "four threads along the other axis";
  EXPECT_EQ(banks(4, [](int l) { return l % 2 * 4; }), 2) << "lane 0 and 2 agree";
  EXPECT_EQ(banks(4, [](int l) { return l % 8 * 4; }), 4)
      << "lane 0 and 8 agree, which helps nothing";
}

double lines(int width, const std::function<int64_t(int)>& at) {
  return model::line_cycles(lanes(at), width, 128, 128);
}

TEST(LaneAddresses, ACacheServesALineACycle) {
  EXPECT_EQ(lines(4, [](int l) { return 4 * l; }), 1);
  EXPECT_EQ(lines(4, [](int l) { return 64 + 4 * l; }), 2) << "across two lines";
  EXPECT_EQ(lines(4, [](int l) { return 128 * l; }), 32);
  EXPECT_EQ(lines(4, [](int) { return 0; }), 1);
  EXPECT_EQ(lines(16, [](int l) { return 16 * l; }), 4) << "8 lanes a phase";
  EXPECT_EQ(lines(16, [](int) { return 0; }), 4) << "phases of a cache do not merge";
  EXPECT_EQ(lines(16, [](int l) { return 128 * (l % 8); }), 32);
  EXPECT_EQ(lines(8, [](int l) { return l / 16 * 4096 + 8 * (l % 16); }), 2);
}

}  // namespace
}  // namespace assay::test
