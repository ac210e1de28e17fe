// Rows of KernelTuner's table as programs, and how estimates order them.
#include "toolkit/kernel_tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/toolkit/reference_folder.h"
#include "toolkit/accuracy_programs.h"
#include "toolkit/estimate_operators.h"
#include "toolkit/profiles.h"
#include "toolkit/simulate.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Changes = std::map<std::string, int>;

Result<ir::Program> program(const Changes& changes = {},
                            const std::string& op = "matmul m=128 n=64 k=64") {
  toolkit::XgemmParameters p = {{"MWG", 64},  {"NWG", 32},   {"KWG", 32},   {"MDIMC", 16},
                                {"NDIMC", 8}, {"MDIMA", 16}, {"NDIMB", 16}, {"KWI", 2},
                                {"VWM", 2},   {"VWN", 1},    {"STRM", 0},   {"STRN", 0},
                                {"SA", 1},    {"SB", 1}};
  for (const auto& [name, value] : changes) p[name] = value;
  return toolkit::xgemm_program(*toolkit::OperatorEstimator::graph_of(op, "f32"), p);
}

std::string text(const Changes& changes = {}) {
  const auto p = program(changes);
  return p ? ir::print_program(*p) : render(p.diags());
}

// 16 x 8 threads of 4 x 4 elements. To copy 32 x 64 elements of A, 8 rows of 16 threads each take
// 4 x 4; of B 4 x 2.
TEST(KernelTuner, ARowIsAProgram) {
  const std::string t = text();
  EXPECT_THAT(t, HasSubstr("layouts: {a: \"[1, 0]\", b: \"[0, 1]\", c: \"[1, 0]\"}"));
  EXPECT_THAT(t, HasSubstr("extent: {m: 64, n: 32, k: 32}, order: [n, m, k]}"));
  EXPECT_THAT(t, HasSubstr("extent: {m: 64, n: 32, k: 2}, order: [k]}"));
  EXPECT_THAT(t, HasSubstr("threads: {axes: [n, m], tasks: \"spatial(8, 16) * repeat(4, 4)\", "
                           "widths: {a: 2, b: 2, c: 2}}"))
      << "B lies behind A, whose vectors align both";
  EXPECT_THAT(t, HasSubstr("{read: 0, level: 0, layout: \"[1, 0]\", tasks: \"spatial(8, 16) * "
                           "repeat(4, 4)\", width: 2}"));
  EXPECT_THAT(t, HasSubstr("{read: 1, level: 0, layout: \"[0, 1]\", tasks: \"spatial(8, 16) * "
                           "repeat(4, 2)\"}"));
}

TEST(KernelTuner, WhatIsNotStagedIsReadInPlace) {
  const std::string a = text({{"SA", 0}}), none = text({{"SA", 0}, {"SB", 0}});
  EXPECT_THAT(a, Not(HasSubstr("read: 0, ")));
  EXPECT_THAT(a, HasSubstr("read: 1, "));
  EXPECT_THAT(a, HasSubstr("widths: {a: 2, c: 2}"));
  EXPECT_THAT(none, Not(HasSubstr("staging")));
}

TEST(KernelTuner, StridedThreadsTakeVectorsInTurns) {
  const std::string t = text({{"STRM", 1}});
  EXPECT_THAT(t, HasSubstr("tasks: \"repeat(1, 2) * spatial(8, 16) * repeat(4, 2)\", widths"));
  EXPECT_THAT(t, HasSubstr("tasks: \"repeat(1, 2) * spatial(8, 16) * repeat(4, 2)\", width: 2"));
  EXPECT_THAT(
      text({{"STRN", 1}}),
      HasSubstr("tasks: \"repeat(4, 1) * spatial(8, 16) * repeat(1, 4)\", widths: {a: 2, c: 2}"))
      << "elements of B are not together";
}

TEST(KernelTuner, ParametersThatDoNotFitAreRefused) {
  EXPECT_THAT(text({{"MDIMC", 64}}), HasSubstr("MDIMC * VWM does not divide MWG = 64"));
  EXPECT_THAT(text({{"NDIMB", 64}}), HasSubstr("NDIMB * VWN does not divide NWG = 32"));
  EXPECT_THAT(text({{"KWI", 3}}), HasSubstr("KWI does not divide KWG = 32"));
  EXPECT_THAT(text({{"MDIMA", 24}}), HasSubstr("MDIMA does not divide MDIMC * NDIMC = 128"));
  EXPECT_THAT(text({{"KWG", 4}, {"SB", 0}}),
              HasSubstr("MDIMC * NDIMC / MDIMA does not divide KWG = 4"));
  EXPECT_THAT(render(program({}, "relu n=64").diags()), HasSubstr("of the operator matmul"));
  EXPECT_THAT(render(program({}, "matmul b=2 m=128 n=64 k=64").diags()), HasSubstr("matmul"));
  EXPECT_THAT(render(program({}, "matmul m=128 n=16 k=64").diags()), HasSubstr("extent 32"));
}

TEST(KernelTuner, ColumnsAreNumbers) {
  const auto fault = [](const std::string& vwn, const std::string& sb) {
    const auto p = toolkit::xgemm_parameters(
        {"MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "KWI", "VWM", "VWN", "STRM",
         "STRN", "SA", "SB"},
        {"1", "2", "3", "4", "5", "6", "7", "8", "9", vwn, "0", "1", "0", sb});
    return p ? fmt::format("{} {} {}", p->at("MWG"), p->at("VWN"), p->at("SB")) : render(p.diags());
  };
  EXPECT_EQ(fault("10", "1"), "1 10 1");
  EXPECT_THAT(fault("x", "1"), HasSubstr("VWN: found `x`, expected a number from 1 to 1024"));
  EXPECT_THAT(fault("0", "1"), HasSubstr("VWN: found `0`"));
  EXPECT_THAT(fault("1", "2"), HasSubstr("SB: found `2`, expected 0 or 1"));
  EXPECT_THAT(render(toolkit::xgemm_parameters({"MWG"}, {"1"}).diags()),
              HasSubstr("the table has no column NWG"));
}

// Of six pairs two are the wrong way round, and the first choice takes twice as long as it needs.
TEST(Ranking, OrderAndRegret) {
  const std::vector<double> predicted = {1, 2, 3, 4}, measured = {2, 1, 4, 3};
  const toolkit::Ranking r = toolkit::ranking_of(predicted, measured);
  EXPECT_NEAR(r.kendall, 1.0 / 3, 1e-12);
  EXPECT_NEAR(r.spearman, 0.6, 1e-12) << "1 - 6 * 4 / (4 * 15)";
  EXPECT_EQ(r.regret, 2);
  EXPECT_EQ(r.subset_regret, 2) << "a subset is all of them";
}

// One of 3000 programs is told to be the fastest and is 10 times slower than all others: a third of
// the subsets have it.
TEST(Ranking, SubsetsAreOfAThousand) {
  std::vector<double> predicted(3000, 2), measured(3000, 1);
  predicted[1234] = 1;
  measured[1234] = 10;
  const toolkit::Ranking r = toolkit::ranking_of(predicted, measured);
  EXPECT_EQ(r.regret, 10);
  EXPECT_GT(r.subset_regret, 1 + 9 * 0.2);
  EXPECT_LT(r.subset_regret, 1 + 9 * 0.45);
  EXPECT_EQ(toolkit::ranking_of(predicted, measured).subset_regret, r.subset_regret);
}

const std::string kPrograms =
    "  - {file: t.csv, source: lab, device: nvidia/rtx-3090, group: g, launch: stream, caches: "
    "warm, "
    "role: judge, programs: xgemm}\n";
const std::string kBars =
    "bars:\n  - {name: order, groups: [g], figure: kendall, at_least: 0.5}\n"
    "  - {name: choice, groups: [g], figure: subset regret, at_most: 1.5}\n"
    "  - {name: size, groups: [g], at_most: 1e-6}\n";
const std::string kHead =
    "op,type,seconds,MWG,NWG,KWG,MDIMC,NDIMC,MDIMA,NDIMB,KWI,VWM,VWN,STRM,STRN,SA,SB\n";
const std::string kOp = "matmul m=1024 n=1024 k=1024,f32,";
const std::string kLarge = "64,64,32,16,8,16,16,2,4,4,0,0,1,1\n",
                  kSmall = "16,16,32,8,8,8,8,2,1,1,0,0,0,0\n";

TEST(ProgramAccuracy, TablesOfProgramsAreOrderedByTheModel) {
  const auto r =
      ReferenceFolder(kHead + kOp + "4e-4," + kSmall + kOp + "1e-4," + kLarge, kPrograms, kBars)
          .read();
  ASSERT_TRUE(r) << render(r.diags());
  const auto a = toolkit::accuracy(*r, {});
  ASSERT_TRUE(a) << render(a.diags());
  EXPECT_TRUE(a->rows.empty());
  ASSERT_EQ(a->programs.size(), 1u);
  const toolkit::ProgramAccuracy& p = a->programs[0];
  EXPECT_EQ(p.errors.n, 2);
  EXPECT_EQ(p.kendall, 1) << "four by four elements beat two by two without copies";
  EXPECT_EQ(p.regret, 1);
  ASSERT_EQ(a->bars.size(), 3u);
  EXPECT_EQ(a->bars[0].value, p.kendall);
  EXPECT_TRUE(a->bars[0].holds);
  EXPECT_EQ(a->bars[1].value, p.subset_regret);
  EXPECT_TRUE(a->bars[1].holds);
  EXPECT_EQ(a->bars[2].value, p.errors.mean);
  EXPECT_FALSE(a->bars[2].holds);
  toolkit::AccuracyOptions other;
  other.device = "nvidia/t4";
  const auto none = toolkit::accuracy(*r, other);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->programs.empty());
}

TEST(ProgramAccuracy, ARowThatIsNoProgramIsRefusedWithItsLine) {
  const auto fault = [](const std::string& row) {
    const auto r = ReferenceFolder(kHead + kOp + "1e-4," + kLarge + row, kPrograms, kBars).read();
    EXPECT_TRUE(r) << render(r.diags());
    const auto a = toolkit::accuracy(*r, {});
    return a ? "" : render(a.diags());
  };
  EXPECT_THAT(fault(kOp + "1e-4,64,64,32,16,8,16,16,2,8,4,0,0,1,1\n"),
              HasSubstr("t.csv:3: error: MDIMC * VWM does not divide MWG = 64"));
  EXPECT_THAT(fault("relu n=10,f32,1e-4," + kLarge), HasSubstr("t.csv:3: error:"));
  EXPECT_THAT(fault("matmul m=64 n=64 k=64,bf16,1e-4," + kLarge), HasSubstr("a is bf16"));
}

TEST(Threads, TheExampleIsPricedAndPrinted) {
  const std::string file = std::string(ASSAY_SOURCE_DIR) + "/examples/gemm-threads.yaml";
  const auto s = toolkit::simulate(file, *toolkit::load_profile("nvidia/rtx-3090"), {});
  ASSERT_TRUE(s) << render(s.diags());
  // 2048^3 multiply-adds at 128 a cycle on 82 units of 1.695 GHz, and less than three times that.
  const double least = 2048.0 * 2048 * 2048 / (128 * 82 * 1.695e9);
  EXPECT_GT(s->total.seconds, least);
  EXPECT_LT(s->total.seconds, 3 * least);
  EXPECT_EQ(render(s->notes), "");
  const auto cpu = toolkit::simulate(file, *toolkit::load_profile("generic/x86-avx512-2core"), {});
  ASSERT_FALSE(cpu);
  EXPECT_THAT(render(cpu.diags()), HasSubstr("gemm-threads.yaml:22:"));
}

}  // namespace
}  // namespace assay::test
