// scripts/results: bad rows are refused with file and line, and docs/RESULTS.md is what it prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/files/files.h"
#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

const std::string kCheckout = ASSAY_SOURCE_DIR;
const std::string kHead = "what,value,bar,holds,command,machine,commit,date\n";
const std::string kGood = "time,2 s,3 s,yes,make,A,0123abc,2026-11-28\n";
const std::string kMachines =
    "name,processor,generation,units,caches,memory,system,traits\n"
    "A,x86,new,2,L1,1 GiB,Linux,quiet\n";

Outcome results(const std::vector<std::string>& arguments) {
  return run_program(kCheckout + "/scripts/results", arguments);
}

struct Tables {  // a checkout with one machine and one table of claims
  explicit Tables(const std::string& claims) {
    std::filesystem::create_directories(dir.at("docs/results"));
    EXPECT_EQ(write_text(dir.at("docs/results/machines.csv"), kMachines), Diags{});
    EXPECT_EQ(write_text(file(), claims), Diags{});
  }
  std::string file() const { return dir.at("docs/results/speed.csv"); }
  ScratchDirectory dir;
};

void expect_refused(const std::string& claims, int line, const std::string& message) {
  const Tables tables(claims);
  const Outcome o = results({tables.dir.path()});
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr(tables.file() + ":" + std::to_string(line) + ": " + message));
}

TEST(Results, PageIsWhatTheTablesSay) {
  const Outcome o = results({"--check"});
  EXPECT_EQ(o.code, 0) << o.err;
}

TEST(Results, ClaimsThatMissTheirBarStandFirst) {
  const Tables tables(kHead + kGood + "heat,9 K,5 K,no,make,A,0123abc,2026-11-28\n" +
                      "mass,1 g,-,-,make,A,0123abc,2026-11-28\n");
  const Outcome o = results({tables.dir.path()});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("2 claims have a bar; 1 of them hold."));
  const size_t missed = o.out.find("- heat: 9 K (bar: 5 K)\n");
  ASSERT_NE(missed, std::string::npos) << o.out;
  EXPECT_LT(missed, o.out.find("- time: 2 s (bar: 3 s)\n"));
  EXPECT_THAT(o.out, HasSubstr("`make` on A, 2026-11-28, 0123abc:\n"));
  EXPECT_THAT(o.out, HasSubstr("- mass: 1 g\n"));
}

TEST(Results, ClaimsOfOneRunAndValueShareALine) {
  const Tables tables(kHead + kGood + "start,2 s,3 s,yes,make,A,0123abc,2026-11-28\n");
  EXPECT_THAT(results({tables.dir.path()}).out, HasSubstr("- time; start: 2 s (bar: 3 s)\n"));
}

TEST(Results, APageThatIsOutOfDateIsNamedWithTheCommand) {
  const Tables tables(kHead + kGood);
  ASSERT_EQ(write_text(tables.dir.at("docs/RESULTS.md"), "old\n"), Diags{});
  const Outcome o = results({"--check", tables.dir.path()});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("is out of date; run: scripts/results > docs/RESULTS.md"));
}

TEST(Results, BadRowsAreRefusedWithTheirLine) {
  const std::string before = kHead + kGood;
  expect_refused(before + "heat,9 K,5 K,maybe,make,A,0123abc,2026-11-28\n", 3,
                 "holds is 'maybe', not yes, no or -");
  expect_refused(before + "heat,9 K,5 K,-,make,A,0123abc,2026-11-28\n", 3,
                 "holds is - where bar is -");
  expect_refused(before + "heat,9 K,5 K,no,make,A,0123abc,2026-02-30\n", 3, "date is '2026-02-30'");
  expect_refused(before + "heat,9 K,5 K,no,make,Z,0123abc,2026-11-28\n", 3,
                 "unknown machine 'Z'; machines.csv has A");
  expect_refused(before + "heat,9 K,5 K,no,make,A,2026-11-28\n", 3, "7 cells for 8 columns");
}

TEST(Results, ColumnsAreTheOnesThatAreKnown) {
  expect_refused("what,value,bar,holds,command,machine,commit\n", 1, "missing column 'date'");
  expect_refused("what,value,bar,holds,command,machine,commit,date,note\n", 1,
                 "unknown column 'note'");
}

}  // namespace
}  // namespace assay::test
