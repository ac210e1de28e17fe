// The error table over published measurements.
#include "toolkit/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/library/residuals.h"
#include "tests/toolkit/published_folder.h"
#include "tests/toolkit/reference_folder.h"
#include "toolkit/accuracy_intervals.h"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTable = "op,type,seconds\nrelu n=100000000,f32,0.001\n";

// 100 M elements each way on 866 GB/s, of which a tenth of a millisecond more was measured.
TEST(Accuracy, ErrorsAreOfPredictedOverMeasured) {
  const auto r = ReferenceFolder(kTable).read();
  ASSERT_TRUE(r);
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a);
  ASSERT_FALSE(a->rows.empty());
  const toolkit::AccuracyRow& all = a->rows[0];
  EXPECT_EQ(all.model.n, 1);
  EXPECT_NEAR(all.datasheet.bias, 800e6 / 866e9 / 0.001 - 1, 1e-9);
  EXPECT_GT(all.model.bias, all.datasheet.bias) << "no estimate is below its roofline";
  EXPECT_EQ(all.model.mean, std::abs(all.model.bias));
  ASSERT_FALSE(a->bars.empty());
  EXPECT_EQ(a->bars[0].holds, all.model.mean <= 0.5);
}

TEST(Accuracy, WhatNoEntryComputesIsCountedAndSaid) {
  const auto r =
      ReferenceFolder("op,type,seconds\nrelu n=1000,f32,1e-5\nmatmul m=9 n=9 k=9,bf16,1e-5\n")
          .read();
  ASSERT_TRUE(r);
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a);
  EXPECT_EQ(a->rows[0].refused, 1);
  ASSERT_FALSE(a->notes.empty());
  EXPECT_THAT(a->notes[0].message, HasSubstr("bf16"));
}

// The same copies on 800 GB/s take 1 ms, which was measured.
TEST(Accuracy, RooflinesTakeTheDatasheetsBandwidth) {
  const auto r =
      ReferenceFolder(kTable, kCopies, "bandwidths: {nvidia/v100-pcie-16gb: 800 GB/s}\n").read();
  ASSERT_TRUE(r) << render(r.diags());
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a);
  EXPECT_NEAR(a->rows[0].datasheet.bias, 0, 1e-9);
}

TEST(Accuracy, ATableThatIsNotEstimatedIsSaid) {
  const std::string tables =
      "  - {file: t.csv, source: lab, device: no-profile, group: copies, launch: 0 us, "
      "caches: cold, role: judge, not_estimated: a picture}\n";
  const auto r = ReferenceFolder(kTable, tables).read();
  ASSERT_TRUE(r) << render(r.diags());
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a) << render(a.diags());
  EXPECT_TRUE(a->rows.empty());
  EXPECT_TRUE(a->bars.empty());
  ASSERT_EQ(a->notes.size(), 1u);
  EXPECT_EQ(a->notes[0].file, "t.csv");
  EXPECT_EQ(a->notes[0].message, "not estimated: a picture");
}

// Constants fitted on a table itself leave the model three hundredths, carried ones nothing.
TEST(Accuracy, BesideConstantsOfAnotherTableNothingIsLeft) {
  const auto bar = [](const std::string& baseline) {
    std::string tables, head =
                            "  - {source: lab, device: nvidia/v100-pcie-16gb, group: copies, "
                            "launch: 0 us, caches: cold, role: ";
    tables = head + "judge, file: t.csv, baseline: " + baseline + "}\n";
    if (baseline != "t.csv") tables += head + "fit, file: ./t.csv, baseline: ./t.csv}\n";
    const auto r = ReferenceFolder(kTable, tables, "").read();
    EXPECT_TRUE(r) << render(r.diags());
    const auto a = toolkit::accuracy(*r, {});
    EXPECT_TRUE(a);
    return a->bars.at(0).bar - a->rows.at(0).constants.mean;
  };
  EXPECT_NEAR(bar("t.csv"), 0.03, 1e-12);
  EXPECT_NEAR(bar("./t.csv"), 0, 1e-12);
}

// What is said of a device comes from the others alone; the bars count it again.
TEST(Accuracy, IntervalsAreThoseOfTheOtherDevices) {
  const auto r = PublishedFolder().read();
  ASSERT_TRUE(r) << render(r.diags());
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a) << render(a.diags());
  const std::string seen = "nvidia/v100-pcie-16gb";
  toolkit::DeviceRatios others;
  double inside = 0, all = 0;
  for (const toolkit::AccuracyTable& t : a->tables)
    for (const toolkit::AccuracyPoint& p : t.points)
      if (t.device == "nvidia/t4") others.add(t.device, "pointwise", p.measured, p.predicted);
  for (const toolkit::AccuracyTable& t : a->tables)
    for (const toolkit::AccuracyPoint& p : t.points) {
      if (t.device != seen) continue;
      const toolkit::Span s = others.of("pointwise", toolkit::regime_of(p.predicted));
      EXPECT_NEAR(p.low / p.predicted, s.low, 1e-12);
      EXPECT_NEAR(p.high / p.predicted, s.high, 1e-12);
      inside += p.low <= p.measured && p.measured <= p.high ? 1 : 0;
      ++all;
    }
  EXPECT_EQ(all, kManyRows);
  const auto bar = std::find_if(a->bars.begin(), a->bars.end(), [&](const auto& b) {
    return b.name == seen + ": coverage of 90 % intervals, held out";
  });
  ASSERT_NE(bar, a->bars.end());
  EXPECT_NEAR(bar->value, inside / all, 1e-12);
  EXPECT_EQ(bar->bar, 0.8);
  EXPECT_EQ(bar->holds, inside / all >= 0.8);
}

TEST(Accuracy, WidthsAreHeldAgainstTheErrorsOfTheirClass) {
  const auto r = PublishedFolder().read();
  ASSERT_TRUE(r) << render(r.diags());
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a) << render(a.diags());
  std::vector<double> widths;
  double errors = 0;
  for (const toolkit::AccuracyTable& t : a->tables)
    for (const toolkit::AccuracyPoint& p : t.points) {
      if (t.device == "nvidia/rtx-3090") continue;  // programs
      widths.push_back((p.high - p.low) / 2 / p.predicted);
      errors += std::abs(p.predicted / p.measured - 1);
    }
  std::sort(widths.begin(), widths.end());
  const double n = static_cast<double>(widths.size());
  EXPECT_EQ(a->bars.back().name, "class pointwise: median half-width / mean error");
  EXPECT_NEAR(a->bars.back().value, widths[widths.size() / 2] / (errors / n), 1e-9);
  EXPECT_EQ(a->bars.back().bar, 2.5);
}

TEST(Accuracy, OneDeviceHasNoBarOfIntervals) {
  const auto r = ReferenceFolder(kTable).read();
  ASSERT_TRUE(r);
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a);
  for (const toolkit::AccuracyBar& b : a->bars) EXPECT_THAT(b.name, Not(HasSubstr("interval")));
}

TEST(Accuracy, ResidualsReadBack) {
  std::string table = "op,type,seconds\n";
  for (int i = 1; i <= 100; ++i)
    table += "relu n=100000000,f32," + std::to_string(0.001 + 1e-5 * i) + "\n";
  const auto r = ReferenceFolder(table).read();
  ASSERT_TRUE(r);
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a);
  const auto residuals = compiler::parse_residuals(a->residuals, "r.yaml");
  ASSERT_TRUE(residuals) << a->residuals;
  const compiler::Residual span = compiler::residual_of(*residuals, "pointwise", 0.001);
  EXPECT_EQ(span.n, 100);
  EXPECT_EQ(span.devices, 1);
  // The 5th and the 96th of a hundred times.
  EXPECT_NEAR(span.high / span.low, (0.001 + 96e-5) / (0.001 + 5e-5), 1e-3);
  EXPECT_FALSE(
      compiler::parse_residuals("schema: assay/residuals/1\nquantiles:\n"
                                "  - {class: rows, low: 2, high: 1, n: 3}\n",
                                "r.yaml"));
  EXPECT_FALSE(
      compiler::parse_residuals("schema: assay/residuals/1\nquantiles:\n"
                                "  - {class: rows, low: 1, high: 2, devices: 0, n: 3}\n",
                                "r.yaml"));
}

}  // namespace
}  // namespace assay::test
