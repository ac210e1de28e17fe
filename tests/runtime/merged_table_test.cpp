// How launches of a phase become one: parts, and the tables that merged kernels read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "runtime/phases.h"

namespace assay::runtime {
namespace {

using Lists = std::vector<std::vector<int>>;
using ::testing::ElementsAre;

TEST(MergedTable, has_a_row_for_each_range_of_groups) {
  const std::vector<MergedLaunch> launches{
      {{{0, 3}, {5, 9}}, 1, {70, 71}}, {{}, 0, {1, 2, 3}}, {{{2, 2}}, 0, {4}}, {{{0, 1}}, 0, {80}}};
  const auto tables = merged_tables(launches, 100);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].rows, 3);
  EXPECT_EQ(tables[0].groups, 8);
  ASSERT_EQ(tables[0].stride, 6);
  EXPECT_THAT(tables[0].words, ElementsAre(0, 1, 0, 70, 71, 0,  //
                                           3, 1, 5, 70, 71, 0,  //
                                           7, 0, 0, 80, 0, 0));
  EXPECT_TRUE(merged_tables({}, 100).empty());
}

TEST(MergedTable, is_cut_where_a_launch_has_too_many_groups) {
  const auto tables =
      merged_tables(std::vector<MergedLaunch>{{{{0, 7}}, 0, {}}, {{{4, 9}}, 1, {}}}, 5);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_THAT(tables[0].words, ElementsAre(0, 0, 0));
  EXPECT_THAT(tables[1].words, ElementsAre(0, 0, 5, 2, 1, 4));
  EXPECT_THAT(tables[2].words, ElementsAre(0, 1, 7));
  EXPECT_EQ(tables[0].groups + tables[1].groups + tables[2].groups, 12);
}

TEST(PartsOfAPhase, are_of_a_kind_and_fit) {
  const std::vector<int> phase{5, 0, 3, 1, 4, 2, 6};
  const auto parity = [](int l) { return l == 4 ? std::nullopt : std::optional(l % 2); };
  EXPECT_EQ(parts_of(phase, {parity}), (Lists{{5, 3, 1}, {0, 2, 6}, {4}}));
  EXPECT_EQ(
      parts_of(phase, {parity, [](std::span<const int> part, int) { return part.size() < 2; }}),
      (Lists{{5, 3}, {0, 2}, {1}, {4}, {6}}));
}

}  // namespace
}  // namespace assay::runtime
