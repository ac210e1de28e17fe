// The error table's page in a headless Chromium, wide and narrow. Skipped without Chromium.
#include "toolkit/accuracy_page.h"

#include <gtest/gtest.h>

#include "tests/support/page/browser.h"
#include "tests/toolkit/published_folder.h"

namespace assay::test {
namespace {

class AccuracyPage : public testing::TestWithParam<View> {};

TEST_P(AccuracyPage, EveryChartIsDrawn) {
  const auto r = PublishedFolder().read();
  ASSERT_TRUE(r) << render(r.diags());
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a) << render(a.diags());
  // V100, T4 and RTX 3090, with intervals; copies, sums and tiles.
  look_at(toolkit::accuracy_page(*a), GetParam(), 3 + 3, 3);
}

INSTANTIATE_TEST_SUITE_P(Views, AccuracyPage,
                         testing::Values(View{"accuracy_desktop", 1200, 5200, false},
                                         View{"accuracy_phone", 400, 7000, true}),
                         [](const auto& v) { return std::string(v.param.name); });

}  // namespace
}  // namespace assay::test
