// Published measurements: their reader, the rooflines beside them, and the error table.
#include "toolkit/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "compiler/library/residuals.h"
#include "support/files/files.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/roofline.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

TEST(Roofline, TheSlowerOfBothAndALaunch) {
  EXPECT_DOUBLE_EQ(toolkit::roofline({3, 2, 1}), 3);
  EXPECT_DOUBLE_EQ(toolkit::roofline({3, 2, 1}, {1, 0.5, 0.25}), 4.25);
}

// Times of a chip that reaches 0.8 of its peak and 0.6 of its bandwidth, in launches of 1.2^3 us.
TEST(Roofline, ItsConstantsAreFound) {
  std::vector<toolkit::RooflineInput> rows;
  for (int i = 1; i <= 40; ++i) {
    const double compute = 1e-6 * i * i, movement = 1e-6 * (50 - i);
    rows.push_back({compute, movement, std::max(compute / 0.8, movement / 0.6) + 1.728e-6});
  }
  const toolkit::RooflineConstants c = toolkit::fit_roofline(rows);
  EXPECT_NEAR(c.compute, 0.8, 0.011);
  EXPECT_NEAR(c.movement, 0.6, 0.011);
  EXPECT_NEAR(c.launch, 1.728e-6, 0.2e-6);
}

class Folder {
 public:
  explicit Folder(
      const std::string& table,
      const std::string& index =
          "  - {file: t.csv, device: nvidia/v100-pcie-16gb, "
          "group: copies, launch: 0 us, caches: cold, "
          "role: fit, baseline: t.csv}\n",
      const std::string& end = "bars:\n  - {name: copies, groups: [copies], at_most: 0.5}\n") {
    EXPECT_EQ(write_text(dir_.at("t.csv"), table), Diags{});
    EXPECT_EQ(
        write_text(dir_.at("index.yaml"), "schema: assay/reference/1\ntables:\n" + index + end),
        Diags{});
  }
  Result<toolkit::Reference> read() const { return toolkit::read_reference(dir_.path()); }

 private:
  ScratchDirectory dir_;
};

constexpr const char* kTable = "op,type,seconds\nrelu n=100000000,f32,0.001\n";

TEST(Reference, TablesAreRead) {
  const auto r = Folder(kTable).read();
  ASSERT_TRUE(r);
  ASSERT_EQ(r->tables.size(), 1u);
  EXPECT_EQ(r->tables[0].role, toolkit::Role::fit);
  ASSERT_EQ(r->tables[0].rows.size(), 1u);
  EXPECT_EQ(r->tables[0].rows[0].op, "relu n=100000000");
  EXPECT_EQ(r->tables[0].rows[0].seconds, 0.001);
}

TEST(Reference, DamageIsRefusedWithItsPlace) {
  const auto fault = [](const Folder& f) {
    const auto r = f.read();
    EXPECT_FALSE(r);
    return r ? std::string()
             : r.diags()[0].file + ":" + std::to_string(r.diags()[0].line) + ": " +
                   r.diags()[0].message;
  };
  EXPECT_THAT(fault(Folder("op,type,seconds\nrelu n=1,f32,0\n")), HasSubstr("t.csv:2: expected"));
  EXPECT_THAT(fault(Folder("op,type,seconds\nrelu n=1\n")), HasSubstr("t.csv:2: expected"));
  const std::string row = "  - {file: t.csv, device: d, group: g, launch: 0 us, caches: cold, ";
  EXPECT_THAT(fault(Folder(kTable, row + "role: guess, baseline: t.csv}\n")),
              HasSubstr("index.yaml:3: `role` is `guess`"));
  EXPECT_THAT(fault(Folder(kTable, row + "role: fit, baseline: u.csv}\n")),
              HasSubstr("baseline `u.csv` is no table"));
  EXPECT_THAT(fault(Folder(kTable, row + "role: fit, baseline: t.csv, colour: red}\n")),
              HasSubstr("unknown key `colour`"));
  EXPECT_THAT(fault(Folder(kTable, "  - {file: t.csv}\n")), HasSubstr("`device` is missing"));
}

// 100 M elements each way on 866 GB/s, of which a tenth of a millisecond more was measured.
TEST(Accuracy, ErrorsAreOfPredictedOverMeasured) {
  const auto r = Folder(kTable).read();
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
      Folder("op,type,seconds\nrelu n=1000,f32,1e-5\nmatmul m=9 n=9 k=9,bf16,1e-5\n").read();
  ASSERT_TRUE(r);
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a);
  EXPECT_EQ(a->rows[0].refused, 1);
  ASSERT_FALSE(a->notes.empty());
  EXPECT_THAT(a->notes[0].message, HasSubstr("bf16"));
}

TEST(Accuracy, ResidualsReadBack) {
  std::string table = "op,type,seconds\n";
  for (int i = 1; i <= 100; ++i)
    table += "relu n=100000000,f32," + std::to_string(0.001 + 1e-5 * i) + "\n";
  const auto r = Folder(table).read();
  ASSERT_TRUE(r);
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a);
  const auto residuals = compiler::parse_residuals(a->residuals, "r.yaml");
  ASSERT_TRUE(residuals) << a->residuals;
  const compiler::Residual span = compiler::residual_of(*residuals, "pointwise", 0.001);
  EXPECT_EQ(span.n, 100);
  // The 5th and the 96th of a hundred times.
  EXPECT_NEAR(span.high / span.low, (0.001 + 96e-5) / (0.001 + 5e-5), 1e-3);
  EXPECT_FALSE(
      compiler::parse_residuals("schema: assay/residuals/1\nquantiles:\n"
                                "  - {class: rows, low: 2, high: 1, n: 3}\n",
                                "r.yaml"));
}

}  // namespace
}  // namespace assay::test
