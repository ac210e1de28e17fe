// Scores of models with known errors; a journal reads back as written.
#include "toolkit/validate_score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/files/files.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/validate_journal.h"
#include "toolkit/validate_plot.h"

namespace assay::toolkit {
namespace {

using test::ScratchDirectory;
using testing::HasSubstr;

ProgramRow row(int i, double measured, double predicted, double half_width) {
  ProgramRow r;
  r.id = "id" + std::to_string(i);
  r.parameters = "vector n:16 | m" + std::to_string(i);
  r.program = "schema: assay/program/1\n";
  r.measured = r.quick = r.slow = measured;
  r.samples = 9;
  r.fma_rate = 2e9 * (1 + 0.01 * i);
  r.estimate.seconds = predicted;
  r.estimate.low = predicted * (1 - half_width);
  r.estimate.high = predicted * (1 + half_width);
  r.estimate.bound = "load";
  r.estimate.terms = {{"load", predicted / 2, ""}, {"launch", predicted / 3, ""}};
  return r;
}

// Twenty programs, predicted at `ratio` times their measured time. The first choice is the fastest
// but for one neighbour, which takes 0.8 of its time.
Validation of_ratio(double ratio) {
  Validation v;
  v.suite = "made-up";
  v.fma_rate = 2e9;
  v.total = 2;
  for (int o = 0; o < 2; ++o) {
    OperatorRows rows;
    rows.name = "operator " + std::to_string(o);
    for (int i = 0; i < 20; ++i) {
      const double t = 20e-6 * (1 + 0.1 * i);
      rows.rows.push_back(row(i, t, ratio * t, 0.25));
      rows.rows.back().drawn = i % 2 == 0 ? Drawn::best_tenth : Drawn::uniform;
    }
    rows.rows[0].first = true;
    rows.rows.push_back(row(20, 0.8 * 20e-6, 1, 0.25));
    rows.rows.back().drawn = Drawn::neighbour;
    v.operators.push_back(rows);
  }
  return v;
}

TEST(Score, AModelThatIsRight) {
  const Score s = score_of(of_ratio(1));
  EXPECT_NEAR(*s.first.mape, 0, 1e-12);
  EXPECT_NEAR(*s.all.mape, 0, 1e-12);
  EXPECT_NEAR(*s.spearman_median, 1, 1e-12);
  EXPECT_NEAR(*s.kendall_good_median, 1, 1e-12);
  EXPECT_NEAR(*s.all.coverage, 1, 1e-12);
  EXPECT_NEAR(*s.all.half_width, 0.25, 1e-12);
  EXPECT_NEAR(*s.regret_geomean, 1 / 0.8, 1e-12) << "neighbours count for regret";
  EXPECT_EQ(s.all.programs, 40) << "and for nothing else";
  EXPECT_EQ(s.operators[0].good, 6) << "20 .. 30 us";
  EXPECT_EQ(s.measured, 42);
}

TEST(Score, AModelThatIsTwiceTooSlowStillRanks) {
  const Score s = score_of(of_ratio(2));
  EXPECT_NEAR(*s.first.mape, 1, 1e-12);
  EXPECT_NEAR(*s.all.bias, 1, 1e-12);
  EXPECT_NEAR(*s.all.p90, 1, 1e-12);
  EXPECT_NEAR(*s.spearman_median, 1, 1e-12);
  EXPECT_NEAR(*s.all.coverage, 0, 1e-12);
}

TEST(Score, MultiplyAddRatioIsTheMedianOfKnownRates) {
  Validation v = of_ratio(1);
  EXPECT_DOUBLE_EQ(*score_of(v).multiply_add_ratio, 1.1) << "1.00 to 1.20";
  for (OperatorRows& o : v.operators)
    for (size_t i = 0; i < 16; ++i) o.rows[i].fma_rate = 0;
  EXPECT_DOUBLE_EQ(*score_of(v).multiply_add_ratio, 1.18) << "1.16 to 1.20";
  for (OperatorRows& o : v.operators)
    for (ProgramRow& r : o.rows) r.fma_rate = 0;
  EXPECT_FALSE(score_of(v).multiply_add_ratio);
}

TEST(Score, WrongProgramsAreCountedAndLeftOut) {
  Validation v = of_ratio(1);
  v.operators[0].rows[3].wrong = true;
  v.operators[0].rows[3].estimate.seconds = 1;
  v.operators[0].rows[20].wrong = true;
  const Score s = score_of(v);
  EXPECT_EQ(s.wrong, 2);
  EXPECT_EQ(s.all.programs, 39);
  EXPECT_NEAR(*s.all.mape, 0, 1e-12);
  EXPECT_NEAR(*s.operators[0].regret, 1, 1e-12) << "a wrong program is not the best";
}

TEST(Score, RegimesDivideTheProgramsByMeasuredTime) {
  Validation v = of_ratio(1);
  for (OperatorRows& o : v.operators)
    for (size_t i = 0; i < o.rows.size(); ++i) o.rows[i].measured *= i < 5 ? 0.1 : i < 10 ? 1 : 10;
  const Score s = score_of(v);
  ASSERT_EQ(s.regimes.size(), 3U);
  EXPECT_EQ(s.regimes[0].all.programs, 10);
  EXPECT_EQ(s.regimes[1].all.programs, 10);
  EXPECT_EQ(s.regimes[2].all.programs, 20);
  EXPECT_EQ(s.regimes[0].first.programs, 2);
}

TEST(Score, NoFigureForTooFewPrograms) {
  Validation v = of_ratio(1);
  v.operators[0].rows.resize(1);
  v.operators.resize(1);
  const Score s = score_of(v);
  EXPECT_FALSE(s.spearman_median);
  EXPECT_FALSE(s.kendall_good_median);
  EXPECT_TRUE(to_json(v, s)["spearman_median"].is_null());
  EXPECT_FALSE(to_json(v, s)["complete"].get<bool>());
}

TEST(Score, TheTableHasALinePerProgram) {
  const Validation v = of_ratio(1);
  const std::string csv = print_csv(v);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 42);
  EXPECT_THAT(csv, HasSubstr("operator 0,id0,best_tenth,1,2e-05,"));
}

TEST(Plot, HoldsEveryProgramAndEscapesNames) {
  Validation v = of_ratio(1);
  v.operators[0].name = "a < b & c";
  const std::string svg = plot_svg(v);
  size_t dots = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
    ++dots;
  // 38 drawn in both panels (first choices are diamonds), 2 neighbours in one, 3 of the legend.
  EXPECT_EQ(dots, 2U * 38 + 2 + 3);
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

RunIdentity identity() { return {"profile", "suite", "cpu:0", "cpp", "0", 20, 9, 1}; }

void expect_same(const OperatorRows& a, const OperatorRows& b) {
  EXPECT_EQ(a.name, b.name);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (size_t i = 0; i < a.rows.size(); ++i) {
    const ProgramRow &x = a.rows[i], &y = b.rows[i];
    EXPECT_EQ(std::tie(x.id, x.parameters, x.program, x.drawn, x.first, x.measured, x.quick, x.slow,
                       x.samples, x.disturbed, x.fma_rate, x.wrong),
              std::tie(y.id, y.parameters, y.program, y.drawn, y.first, y.measured, y.quick, y.slow,
                       y.samples, y.disturbed, y.fma_rate, y.wrong));
    EXPECT_EQ(x.estimate.seconds, y.estimate.seconds);
    EXPECT_EQ(x.estimate.low, y.estimate.low);
    EXPECT_EQ(x.estimate.high, y.estimate.high);
    EXPECT_EQ(x.estimate.terms.size(), y.estimate.terms.size());
  }
}

TEST(Journal, ReadsBackDoneOperatorsAndDropsTheRest) {
  const ScratchDirectory dir;
  const std::string path = dir.at("t.journal");
  const Validation v = of_ratio(1.25);
  {
    Result<ValidationJournal> journal = ValidationJournal::start(path, identity(), {});
    ASSERT_TRUE(journal.ok());
    for (const OperatorRows& o : v.operators) {
      for (const ProgramRow& r : o.rows) journal->predicted(o.name, r);
      for (const ProgramRow& r : o.rows) journal->measured(o.name, r);
      if (o.name == "operator 0") journal->done(o);
    }
  }
  const std::string text = *read_text(path);
  ASSERT_EQ(write_text(path, text + "{\"kind\":\"meas"), Diags{});
  const auto read = read_validation(path, identity());
  ASSERT_TRUE(read.ok()) << render(read.diags());
  ASSERT_EQ(read->size(), 1U);
  expect_same((*read)[0], v.operators[0]);
  ASSERT_TRUE(ValidationJournal::start(path, identity(), *read).ok());
  const auto again = read_validation(path, identity());
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->size(), 1U);
  expect_same((*again)[0], v.operators[0]);
}

TEST(Journal, RefusesTheJournalOfAnotherRun) {
  const ScratchDirectory dir;
  const std::string path = dir.at("t.journal");
  ASSERT_TRUE(ValidationJournal::start(path, identity(), {}).ok());
  RunIdentity other = identity();
  other.seed = 2;
  other.profile = "faster";
  const auto read = read_validation(path, other);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(render(read.diags()), HasSubstr("seed was 1, now it is 2"));
  EXPECT_THAT(render(read.diags()), HasSubstr("profile was \"profile\", now it is \"faster\""));
  ASSERT_EQ(write_text(path, "{}\nnonsense\n"), Diags{});
  EXPECT_THAT(render(read_validation(path, identity()).diags()),
              HasSubstr("the journal of another run"));
  ASSERT_EQ(write_text(path, ""), Diags{});
  EXPECT_THAT(render(read_validation(path, identity()).diags()), HasSubstr("is not the journal"));
}

}  // namespace
}  // namespace assay::toolkit
