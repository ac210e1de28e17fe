// The byte offsets of a cycle's nodes.
#include "probe/sampling/cycle.h"

#include <gtest/gtest.h>

#include <set>

namespace assay::probe {
namespace {

// For any line size: one node per page, over all sets, and none beyond the last page.
TEST(Cycle, SpreadNodesStayInPagesOfTheirOwn) {
  for (const int64_t line : {32, 64, 96, 128, 256}) {
    Cycle c;
    c.nodes = 200;
    c.stride = kPage;
    c.spread = line;
    std::set<int64_t> pages, places;
    for (int64_t i = 0; i < c.nodes; ++i) {
      pages.insert(byte_of(c, i) / kPage);
      places.insert(byte_of(c, i) % kPage);
      EXPECT_LE(byte_of(c, i) + 8, c.nodes * kPage) << "line " << line << ", node " << i;
    }
    EXPECT_EQ(pages.size(), static_cast<size_t>(c.nodes)) << line;
    EXPECT_GE(places.size(), static_cast<size_t>(kPage / line)) << line;
  }
}

}  // namespace
}  // namespace assay::probe
