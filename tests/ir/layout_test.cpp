// Where a position of a tensor lies.
#include "ir/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace assay::ir {
namespace {

// Dimensions in any order, in blocks, with padding: every position against its offset as an index.
TEST(Layout, AnElementLiesWhereItsOffsetSays) {
  std::mt19937 rng(3);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  int64_t seen = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<int64_t> shape{draw(1, 4), draw(1, 9), draw(1, 7)};
    Layout layout = row_major(3);
    std::shuffle(layout.dims.begin(), layout.dims.end(), rng);
    if (draw(0, 1) == 1) {
      const int64_t block = draw(2, 4);
      layout.dims[0].div = block;
      layout.dims.push_back({layout.dims[0].dim, 1, block});
    }
    if (draw(0, 1) == 1) layout.pad = {{draw(0, 2), 0}, {0, draw(0, 2)}, {draw(0, 2), draw(0, 2)}};
    std::vector<bool> taken(static_cast<size_t>(physical_elements(layout, shape)));
    std::vector<int64_t> at(3);
    for (at[0] = 0; at[0] < shape[0]; ++at[0])
      for (at[1] = 0; at[1] < shape[1]; ++at[1])
        for (at[2] = 0; at[2] < shape[2]; ++at[2]) {
          const std::vector<Index> index{constant(at[0]), constant(at[1]), constant(at[2])};
          const int64_t element = element_at(layout, shape, at);
          EXPECT_EQ(element, evaluate(physical_offset(layout, shape, index, {}), {}))
              << print(layout);
          ASSERT_LT(element, std::ssize(taken)) << print(layout);
          EXPECT_FALSE(taken[static_cast<size_t>(element)]) << print(layout) << ": of another one";
          taken[static_cast<size_t>(element)] = true;
          ++seen;
        }
  }
  EXPECT_GT(seen, 5000);
}

}  // namespace
}  // namespace assay::ir
