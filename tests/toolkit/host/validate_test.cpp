// A validation on this machine's CPU: the rows, correct values, and resuming from a journal.
#include "toolkit/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/toolkit/scratch_directory.h"
#include "toolkit/profiles.h"
#include "toolkit/validate_score.h"

namespace assay::toolkit {
namespace {

using test::ScratchDirectory;
using testing::HasSubstr;

const Suite kSuite = {"small", {"matmul m=24 n=40 k=16", "softmax rows=16 columns=33"}};

// Kernels are built once for all tests.
ValidateOptions options_in(const ScratchDirectory& scratch) {
  static const ScratchDirectory kernels;
  ValidateOptions o;
  o.programs = 6;
  o.repeat = 2;
  o.journal = scratch.at("t.journal");
  o.cache_dir = kernels.at("cache");
  return o;
}

Result<Validation> run(const Suite& suite, const ValidateOptions& o) {
  return validate(*load_profile("generic/x86-avx512-2core"), suite, o);
}

TEST(Validate, MeasuresAndResumes) {
  const ScratchDirectory scratch;
  ValidateOptions options = options_in(scratch);
  CancelToken cancel{false};
  options.cancel = &cancel;
  options.progress = [&](int64_t done, int64_t, const std::string&) { cancel = done == 2; };
  const Result<Validation> part = run(kSuite, options);
  ASSERT_TRUE(part.ok()) << render(part.diags());
  ASSERT_EQ(part->operators.size(), 2U) << "interrupted in the third tile-graph";
  EXPECT_EQ(part->total, 4);

  options.cancel = nullptr;
  options.resume = true;
  std::vector<int64_t> worked_on;
  options.progress = [&](int64_t done, int64_t, const std::string&) { worked_on.push_back(done); };
  const Result<Validation> whole = run(kSuite, options);
  ASSERT_TRUE(whole.ok()) << render(whole.diags());
  ASSERT_EQ(whole->operators.size(), 4U);
  EXPECT_EQ(whole->resumed, 2);
  EXPECT_EQ(worked_on.front(), 2) << "operators in the journal are not measured again";
  for (size_t o = 0; o < 2; ++o)
    for (size_t i = 0; i < part->operators[o].rows.size(); ++i)
      EXPECT_EQ(whole->operators[o].rows[i].measured, part->operators[o].rows[i].measured);
  for (const OperatorRows& o : whole->operators) {
    int drawn = 0, first = 0;
    for (const ProgramRow& r : o.rows) {
      drawn += r.drawn != Drawn::neighbour ? 1 : 0;
      first += r.first ? 1 : 0;
      EXPECT_FALSE(r.wrong) << o.name << ": " << r.parameters;
      EXPECT_GT(r.measured, 0);
      EXPECT_LE(r.quick, r.measured);
      EXPECT_LE(r.measured, r.slow);
    }
    EXPECT_EQ(drawn, 6) << o.name;
    EXPECT_EQ(first, 1) << o.name;
    EXPECT_GT(o.rows.size(), 6U) << o.name << ": neighbours";
  }
  EXPECT_GE(*score_of(*whole).regret_geomean, 1);

  options.seed = 2;
  const Result<Validation> other = run(kSuite, options);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(render(other.diags()), HasSubstr("seed was 1, now it is 2"));
}

TEST(Validate, ScoresTheTimesOfAJournal) {
  const ScratchDirectory scratch;
  const ValidateOptions options = options_in(scratch);
  const Result<Validation> measured = run(kSuite, options);
  ASSERT_TRUE(measured.ok()) << render(measured.diags());
  const hwdesc::Profile same = *load_profile("generic/x86-avx512-2core");
  const auto again = judge_again(same, options.journal, "");
  ASSERT_TRUE(again.ok()) << render(again.diags());
  ASSERT_EQ(again->operators.size(), measured->operators.size());
  for (size_t o = 0; o < again->operators.size(); ++o) {
    const std::vector<ProgramRow>&now = again->operators[o].rows,
          &then = measured->operators[o].rows;
    ASSERT_EQ(now.size(), then.size());
    for (size_t i = 0; i < now.size(); ++i) {
      EXPECT_EQ(now[i].measured, then[i].measured);
      EXPECT_NEAR(now[i].estimate.seconds, then[i].estimate.seconds,
                  1e-9 * then[i].estimate.seconds);
    }
    const auto first =
        std::find_if(now.begin(), now.end(), [](const ProgramRow& r) { return r.first; });
    ASSERT_NE(first, now.end());
    for (const ProgramRow& r : now)
      if (r.drawn != Drawn::neighbour) {
        EXPECT_LE(first->estimate.seconds, r.estimate.seconds);
      }
  }
  const auto slower =
      apply_overrides(same, std::vector<std::string>{"apis.cpp.device_barrier=2 ms"});
  ASSERT_TRUE(slower.ok()) << render(slower.diags());
  EXPECT_GT(judge_again(*slower, options.journal, "")->operators[0].rows[0].estimate.seconds, 1e-3);
  EXPECT_FALSE(judge_again(same, options.journal + ".nowhere", "").ok());
  EXPECT_THAT(
      render(judge_again(*load_profile("nvidia/a100-sxm4-40gb"), options.journal, "").diags()),
      HasSubstr("cpp"));
}

TEST(Validate, ADeviceOfAnotherApiIsRefused) {
  const ScratchDirectory scratch;
  ValidateOptions options = options_in(scratch);
  const Result<Validation> v = validate(*load_profile("nvidia/a100-sxm4-40gb"), kSuite, options);
  ASSERT_FALSE(v.ok());
  EXPECT_THAT(render(v.diags()), HasSubstr("cpu:0 runs api 'cpp'"));
}

}  // namespace
}  // namespace assay::toolkit
