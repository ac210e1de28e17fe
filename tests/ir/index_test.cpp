// The values of an index over ranges of its variables.
#include "ir/index.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

namespace assay::ir {
namespace {

std::set<int64_t> all_of(const Index& index, const std::vector<Range>& ranges) {
  std::set<int64_t> out;
  std::vector<int64_t> at;
  for (const Range& r : ranges) at.push_back(r.low);
  for (;;) {
    out.insert(evaluate(index, at));
    size_t d = 0;
    for (; d < at.size() && at[d] == ranges[d].high; ++d) at[d] = ranges[d].low;
    if (d == at.size()) return out;
    ++at[d];
  }
}

TEST(Reach, PositionsThatAStrideLeavesOut) {
  const std::vector<Range> ranges = {{0, 9}, {0, 0}};
  const Index window = variable(0, 2) + variable(1);
  EXPECT_EQ(reach_of(window, ranges), (Reach{19, 10, 2}));
  EXPECT_EQ(reach_of(window, std::vector<Range>{{0, 9}, {0, 2}}), (Reach{21, 21, 1}));
  EXPECT_EQ(reach_of(window, std::vector<Range>{{0, 0}, {0, 2}}), (Reach{3, 3, 1}));
  EXPECT_EQ(reach_of(variable(0, 16) + variable(1), std::vector<Range>{{0, 3}, {0, 3}}),
            (Reach{52, 16, 1}))
      << "blocks apart";
  EXPECT_EQ(reach_of(constant(7), {}), (Reach{1, 1, 1}));
}

// Random strides, negative and dilated ones too, against enumeration.
TEST(Reach, HoldsAllValues) {
  std::mt19937 rng(5);
  const auto below = [&](int n) { return static_cast<int64_t>(rng() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 2000; ++i) {
    std::vector<Range> ranges;
    Index index = constant(below(9));
    for (int v = 0; v < 3; ++v) {
      ranges.push_back({0, below(5)});
      index = index + variable(v, below(9) - 4);
    }
    const std::set<int64_t> values = all_of(index, ranges);
    const Reach r = reach_of(index, ranges);
    ASSERT_EQ(r.span, *values.rbegin() - *values.begin() + 1) << i;
    ASSERT_GE(r.count, static_cast<int64_t>(values.size())) << i;
    ASSERT_LE(r.count, r.span) << i;
    if (r.step == 1) continue;
    ASSERT_EQ(r.count, static_cast<int64_t>(values.size())) << i;
    for (const int64_t value : values) ASSERT_EQ((value - *values.begin()) % r.step, 0) << i;
  }
}

// A sliding window over an axis, with stride and dilation.
TEST(Reach, CountsWhatWindowsTouch) {
  for (int64_t stride = 1; stride <= 7; ++stride)
    for (int64_t dilation = 1; dilation <= 3; ++dilation)
      for (int64_t n = 1; n <= 5; ++n)
        for (int64_t r = 1; r <= 4; ++r) {
          if (stride % dilation != 0 && dilation % stride != 0 && stride <= (r - 1) * dilation)
            continue;
          const std::vector<Range> ranges = {{0, n - 1}, {0, r - 1}};
          const Index index = variable(0, stride) + variable(1, dilation);
          ASSERT_EQ(reach_of(index, ranges).count,
                    static_cast<int64_t>(all_of(index, ranges).size()))
              << stride << " " << dilation << " " << n << " " << r;
        }
}

// 64*(o/64) + c: 64 filters read the same channels.
TEST(Run, NeighboursThatADivisionPutsTogether) {
  const ir::Index groups = ir::Index{{ir::Term{64, 0, {}, 64, 0}}, 0} + ir::variable(1);
  EXPECT_EQ(ir::run_of(groups, 0), 64);
  EXPECT_EQ(ir::run_of(groups, 1), 1);
  EXPECT_EQ(ir::run_of(groups + ir::Index{{ir::Term{1, 0, {}, 48, 5}}, 0}, 0), 16);
  EXPECT_EQ(ir::run_of(ir::Index{{ir::Term{1, 0, {}, 1, 8}}, 0}, 0), 1);
}

}  // namespace
}  // namespace assay::ir
