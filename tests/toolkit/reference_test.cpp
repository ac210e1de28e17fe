// Published measurements: what is read, what is refused, and the repository's own tables.
#include "toolkit/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/compile.h"
#include "tests/toolkit/reference_folder.h"
#include "toolkit/profiles.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kRow = "relu n=100000000,f32,0.001\n", kTwoRows = "op,type,seconds\n" + kRow;
const std::string kStart = "  - {file: t.csv, source: lab, device: d, group: copies, ";
const std::string kRest = "launch: 0 us, caches: cold, role: fit, baseline: t.csv}\n";

TEST(Reference, TablesAreRead) {
  const auto r = ReferenceFolder(kTwoRows).read();
  ASSERT_TRUE(r) << render(r.diags());
  ASSERT_EQ(r->tables.size(), 1u);
  EXPECT_EQ(r->tables[0].role, toolkit::Role::fit);
  EXPECT_EQ(r->tables[0].source, "lab");
  EXPECT_EQ(r->sources[0].licence, "MIT");
  EXPECT_FALSE(r->tables[0].warm);
  ASSERT_EQ(r->tables[0].rows.size(), 1u);
  EXPECT_EQ(r->tables[0].rows[0].op, "relu n=100000000");
  EXPECT_EQ(r->tables[0].rows[0].type, "f32");
  EXPECT_EQ(r->tables[0].rows[0].seconds, 0.001);
  EXPECT_EQ(r->bars[0].groups, std::vector<std::string>{"copies"});
}

TEST(Reference, FurtherColumnsAndQuotes) {
  const auto r = ReferenceFolder(
                     "op,type,seconds,kernel,grid\n"
                     "relu n=5,f32,1e-5,\"copy<float, 4>\",2x1x1\r\n"
                     "relu n=6,f32,2e-5,\"the \"\"second\"\"\",\n")
                     .read();
  ASSERT_TRUE(r) << render(r.diags());
  EXPECT_THAT(r->tables[0].columns, ElementsAre("kernel", "grid"));
  EXPECT_THAT(r->tables[0].rows[0].more, ElementsAre("copy<float, 4>", "2x1x1"));
  EXPECT_THAT(r->tables[0].rows[1].more, ElementsAre("the \"second\"", ""));
}

TEST(Reference, DamagedRowsAreRefusedWithTheirPlace) {
  const auto fault = [](const std::string& text) { return ReferenceFolder(text).fault(); };
  const std::string head = "op,type,seconds\n";
  EXPECT_THAT(fault(""), HasSubstr("t.csv:1: expected the columns op,type,seconds"));
  EXPECT_THAT(fault(kRow), HasSubstr("t.csv:1: expected the columns"));
  EXPECT_THAT(fault("op,seconds,type\n" + kRow), HasSubstr("t.csv:1: expected the columns"));
  EXPECT_THAT(fault(head), HasSubstr("the table has no rows"));
  for (const char* time : {"0", "-1e-3", "nan", "inf", "fast", "", "1 ms"})
    EXPECT_THAT(fault(kTwoRows + "relu n=1,f32," + time + "\n"),
                HasSubstr("t.csv:3: expected op,type,seconds with a time above 0"))
        << time;
  EXPECT_THAT(fault(head + "relu n=1\n"), HasSubstr("t.csv:2: expected 3 fields, found 1"));
  EXPECT_THAT(fault(head + "relu n=1,f32,1,2\n"), HasSubstr("t.csv:2: expected 3 fields, found 4"));
  EXPECT_THAT(fault(kTwoRows + "\n" + kRow), HasSubstr("t.csv:3: expected 3 fields, found 1"));
  EXPECT_THAT(fault(head + "relu n=1,\"f32,1\n"), HasSubstr("t.csv:2: expected 3 fields, found a"));
  EXPECT_THAT(fault(head + "relu n=1,float,1\n"), HasSubstr("t.csv:2: `float` is no type"));
  EXPECT_THAT(fault(head + ",f32,1\n"), HasSubstr("t.csv:2: expected an operator"));
}

TEST(Reference, EveryDamagedRowIsSaid) {
  const auto r = ReferenceFolder("op,type,seconds\nrelu n=1,f32,0\n" + kRow + "relu,f32\n").read();
  ASSERT_FALSE(r);
  ASSERT_EQ(r.diags().size(), 2u);
  EXPECT_EQ(r.diags()[1].line, 4);
}

TEST(Reference, DamagedTablesOfTheIndexAreRefusedWithTheirPlace) {
  const auto fault = [](const std::string& tables) {
    return ReferenceFolder(kTwoRows, tables).fault();
  };
  const std::string row = kStart + "launch: 0 us, caches: cold, ";
  EXPECT_THAT(fault(row + "role: guess, baseline: t.csv}\n"),
              HasSubstr("index.yaml:4: 'guess', expected one of: fit, judge"));
  EXPECT_THAT(fault(row + "baseline: t.csv}\n"), HasSubstr("index.yaml:4: 'role' is missing"));
  EXPECT_THAT(fault(row + "role: fit}\n"), HasSubstr("index.yaml:4: 'baseline' is missing"));
  EXPECT_THAT(fault(row + "role: fit, baseline: u.csv}\n"),
              HasSubstr("index.yaml:4: baseline 'u.csv' is no table"));
  EXPECT_THAT(fault(row + "role: fit, baseline: t.csv, colour: red}\n"),
              HasSubstr("index.yaml:4: unknown key 'colour'"));
  EXPECT_THAT(fault(row + "role: [fit], baseline: t.csv}\n"),
              HasSubstr("index.yaml:4: expected text"));
  EXPECT_THAT(fault(kStart + "launch: 0 us, caches: hot, role: fit, baseline: t.csv}\n"),
              HasSubstr("'hot', expected one of: cold, warm"));
  EXPECT_THAT(fault("  - {file: t.csv}\n"), HasSubstr("'source' is missing"));
  EXPECT_THAT(fault("  - t.csv\n"), HasSubstr("index.yaml:4: expected a map"));
  EXPECT_THAT(fault(kStart + kRest + kStart + kRest),
              HasSubstr("index.yaml:5: table 't.csv' is listed twice"));
  EXPECT_THAT(fault(kStart + "launch: 0 us, caches: cold, role: fit, not_estimated: a picture, "
                             "baseline: t.csv}\n"),
              HasSubstr("baseline 't.csv' is not estimated"));
  EXPECT_THAT(fault("  - {file: t.csv, source: me, device: d, group: copies, " + kRest),
              HasSubstr("index.yaml:4: source 'me' is none of 'sources'"));
  const auto lost =
      ReferenceFolder(kTwoRows,
                      "  - {file: u.csv, source: lab, device: d, group: copies, launch: 0 us, "
                      "caches: cold, role: fit, baseline: u.csv}\n");
  EXPECT_THAT(lost.fault(), HasSubstr("u.csv"));
}

TEST(Reference, ProgramsHaveNoBaselineAndBarsOfTheirOwn) {
  const std::string row = kStart + "caches: warm, role: judge, programs: xgemm, launch: ";
  const auto fault = [](const std::string& tables, const std::string& bar) {
    return ReferenceFolder(kTwoRows, tables,
                           "bars:\n  - {name: b, groups: [copies], " + bar + "}\n")
        .fault();
  };
  const auto r = ReferenceFolder(kTwoRows, row + "stream}\n",
                                 "bars:\n  - {name: b, groups: [copies], figure: kendall, "
                                 "at_least: 0.5}\n")
                     .read();
  ASSERT_TRUE(r) << render(r.diags());
  EXPECT_EQ(r->tables[0].programs, "xgemm");
  EXPECT_EQ(r->bars[0].figure, toolkit::BarFigure::kendall);
  EXPECT_EQ(r->bars[0].bound, 0.5);
  EXPECT_THAT(fault(row + "stream, baseline: t.csv}\n", "at_most: 1"),
              HasSubstr("index.yaml:4: a table of programs has neither 'baseline' nor"));
  EXPECT_THAT(fault(row + "5 us}\n", "at_most: 1"),
              HasSubstr("index.yaml:4: programs are estimated with launches in a stream"));
  EXPECT_THAT(fault(row + "stream}\n", "figure: kendall, at_most: 1"),
              HasSubstr("index.yaml:6: 'at_least' is missing"));
  EXPECT_THAT(fault(row + "stream}\n", "figure: subset regret, at_most: 1, at_least: 1"),
              HasSubstr("index.yaml:6: a bar of this figure has 'at_most'"));
  EXPECT_THAT(fault(row + "stream}\n", "at_most: 1, above: 5 us"),
              HasSubstr("index.yaml:6: group 'copies' is of programs"));
  EXPECT_THAT(fault(kStart + kRest, "figure: kendall, at_least: 1"),
              HasSubstr("index.yaml:6: group 'copies' has no programs"));
  EXPECT_THAT(
      fault(kStart + "caches: warm, role: judge, programs: sort, launch: stream}\n", "at_most: 1"),
      HasSubstr("index.yaml:4: 'sort', expected one of: xgemm"));
}

TEST(Reference, DamageElsewhereInTheIndexIsRefusedWithItsPlace) {
  const std::string tables = kStart + kRest;
  const auto fault = [&](const std::string& end, const std::string& head = kReferenceHead) {
    return ReferenceFolder(kTwoRows, tables, end, head).fault();
  };
  EXPECT_THAT(fault("bars:\n  - {name: b, groups: [moves], at_most: 1}\n"),
              HasSubstr("index.yaml:6: no table is of the group 'moves'"));
  EXPECT_THAT(fault("bars:\n  - {name: b, groups: [copies], at_most: 0}\n"),
              HasSubstr("index.yaml:6: 'at_most' is no positive number"));
  EXPECT_THAT(fault("bars:\n  - {name: b, groups: [copies], at_most: 1, above: 5}\n"),
              HasSubstr("index.yaml:6: 'above' is no time"));
  EXPECT_THAT(fault("bars:\n  - {name: b, at_most: 1}\n"), HasSubstr("'groups' is missing"));
  EXPECT_THAT(fault("bandwidths: {e: 5 GB/s}\n"),
              HasSubstr("index.yaml:5: no table is of the device 'e'"));
  EXPECT_THAT(fault("bandwidths: {d: 5 B/cycle@core}\n"),
              HasSubstr("index.yaml:5: '5 B/cycle@core' is no bandwidth"));
  EXPECT_THAT(fault("bandwidths: {d: fast}\n"), HasSubstr("'fast' is no bandwidth"));
  EXPECT_THAT(fault("bandwidths: []\n"), HasSubstr("expected a map from devices"));
  EXPECT_THAT(fault("bars: {}\n"), HasSubstr("expected a list"));
  EXPECT_THAT(fault("colour: red\n"), HasSubstr("index.yaml:5: unknown key 'colour'"));
  const std::string sources = "sources: {lab: {from: a, licence: b, timed: c}}\n";
  EXPECT_THAT(fault("", "schema: assay/reference/2\n" + sources + "tables:\n"),
              HasSubstr("index.yaml:1: schema 'assay/reference/2'"));
  EXPECT_THAT(fault("", sources + "tables:\n"), HasSubstr("'schema' is missing"));
  const std::string schema = "schema: assay/reference/1\n";
  EXPECT_THAT(fault("", schema + "sources: {lab: {from: a, timed: c}}\ntables:\n"),
              HasSubstr("index.yaml:2: 'licence' is missing"));
  EXPECT_THAT(
      fault("", schema + "sources: {lab: {from: a, licence: b, timed: c, by: d}}\ntables:\n"),
      HasSubstr("index.yaml:2: unknown key 'by'"));
  EXPECT_THAT(ReferenceFolder(kTwoRows, "", "bars: []\n", schema + sources).fault(),
              HasSubstr("'tables' lists none"));
}

// The repository's own.
class Published : public testing::Test {
 protected:
  void SetUp() override {
    auto r = toolkit::read_reference(std::string(ASSAY_SOURCE_DIR) + "/reference");
    ASSERT_TRUE(r) << render(r.diags());
    reference_ = std::move(*r);
  }
  toolkit::Reference reference_;
};

TEST_F(Published, RolesWereDecided) {
  std::set<std::string> fitted;
  for (const toolkit::ReferenceTable& t : reference_.tables)
    if (t.role == toolkit::Role::fit) fitted.insert(t.file);
  EXPECT_THAT(fitted, ElementsAre("aiconfigurator/a100_gemm.csv", "neusight/v100_bmm.csv",
                                  "neusight/v100_elementwise.csv", "neusight/v100_layer_norm.csv",
                                  "neusight/v100_linear.csv", "neusight/v100_softmax.csv"));
}

// A constant that is fitted on a table for judging is carried nowhere.
TEST_F(Published, ConstantsComeFromTablesForFittingOrTheTableItself) {
  for (const toolkit::ReferenceTable& t : reference_.tables)
    for (const toolkit::ReferenceTable& from : reference_.tables)
      if (from.file == t.baseline && from.file != t.file) {
        EXPECT_EQ(from.role, toolkit::Role::fit) << t.file;
      }
}

TEST_F(Published, OperatorsAndDevicesAreKnown) {
  for (const toolkit::ReferenceTable& t : reference_.tables) {
    if (!t.not_estimated.empty()) continue;
    EXPECT_TRUE(toolkit::profile_exists(t.device)) << t.device;
    // Rooflines are of operators.
    EXPECT_TRUE(!t.programs.empty() || reference_.bandwidths.contains(t.device)) << t.device;
    for (const toolkit::ReferenceRow& row : t.rows) {
      const auto g = compiler::parse_operator(row.op + " type=" + row.type);
      ASSERT_TRUE(g) << t.file << ": " << row.op << "\n" << render(g.diags());
    }
  }
}

// Rows of each table as the publishers' files have them.
TEST_F(Published, TablesAreWhole) {
  std::map<std::string, size_t> rows;
  for (const toolkit::ReferenceTable& t : reference_.tables) rows[t.file] = t.rows.size();
  EXPECT_EQ(rows["aiconfigurator/a100_gemm.csv"], 9240u);
  EXPECT_EQ(rows["aiconfigurator/h100_gemm.csv"], 35700u);
  EXPECT_EQ(rows["kerneltuner/rtx3090_gemm4096.csv"], 17956u);
  EXPECT_EQ(rows["neusight/a100_bmm.csv"], 2281u);
  EXPECT_EQ(rows["neusight/t4_linear.csv"], 1040u);
  EXPECT_EQ(rows["neusight/v100_bmm.csv"], 72u);
  EXPECT_EQ(rows["roller/v100_operators.csv"], 119u);
}

}  // namespace
}  // namespace assay::test
