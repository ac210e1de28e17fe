// The report in a headless Chromium, wide and narrow, light and dark. Skipped without Chromium.
#include <gtest/gtest.h>

#include "probe/inference/doubts.h"
#include "probe/report/chart.h"
#include "probe/report/report.h"
#include "tests/probe/synthetic_report.h"
#include "tests/support/page/browser.h"

namespace assay::probe::test {
namespace {

using ::assay::test::View;

class ReportPage : public testing::TestWithParam<View> {};

TEST_P(ReportPage, EveryChartIsDrawn) {
  const Observations all = synthetic_observations(kHostile);
  const auto profile = infer(all);
  ASSERT_TRUE(profile.ok());
  const Source source{all, *profile, known_from(usable_observations(all))};
  const size_t charts = charts_of(source).size() + drift_of(source).size();
  EXPECT_GT(charts, 18u);
  ::assay::test::look_at(report_html(all, *profile), GetParam(), charts);
}

INSTANTIATE_TEST_SUITE_P(Views, ReportPage,
                         testing::Values(View{"desktop_light", 1200, 9000, false},
                                         View{"phone_dark", 390, 12000, true}),
                         [](const auto& v) { return std::string(v.param.name); });

}  // namespace
}  // namespace assay::probe::test
