// `report`, end to end: what it refuses, and what is left then.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/process/process.h"
#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class ReportCommand : public testing::Test {
 protected:
  void compile() const {
    const Outcome o = run_assay({"compile", "--op", "layer_norm rows=4096 columns=1024",
                                 "--profile", "generic/x86-avx512-2core", "--fuse", "all",
                                 "--no-build", "-o", dir_.at("bundle")});
    ASSERT_EQ(o.code, 0) << o.err;
  }
  void expect_refused(const Outcome& o, const std::string& message) const {
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_THAT(o.err, HasSubstr(message));
    EXPECT_EQ(o.out, "");
    EXPECT_FALSE(fs::exists(dir_.at("page.html")));
  }
  ScratchDirectory dir_;
};

TEST_F(ReportCommand, WritesOnePage) {
  if (process::find_program("dot").empty()) GTEST_SKIP() << "no Graphviz here";
  compile();
  const Outcome o =
      run_assay({"report", dir_.at("bundle"), "-o", dir_.at("page.html"), "--format", "json"});
  ASSERT_EQ(o.code, 0) << o.err;
  const auto said = nlohmann::json::parse(o.out);
  EXPECT_EQ(said["steps"], 1);
  EXPECT_EQ(said["steps_before"], 5);
  const Outcome none =
      run_assay({"report", dir_.at("bundle"), "-o", dir_.at("page.html"), "--before", "none"});
  EXPECT_THAT(none.out, HasSubstr("after: 1 steps"));
  std::ifstream file(dir_.at("page.html"));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const char* part :
       {"<svg", "id=\"after_1\"", "id=\"before_5\"", "href=\"#before_5\"", "l1&lt;-l2"})
    EXPECT_THAT(page, HasSubstr(part));
}

TEST_F(ReportCommand, RefusalsLeaveNothing) {
  expect_refused(run_assay({"report", dir_.at("none"), "-o", dir_.at("page.html")}),
                 "none: error: there is no such directory\nhint: `assay compile` makes one");
  expect_refused(run_assay({"report", dir_.at("."), "-o", dir_.at("page.html")}),
                 "is not a bundle: it has no estimate.json");
  compile();
  expect_refused(run_assay({"report", dir_.at("bundle"), "-o", dir_.at("absent/page.html")}),
                 "absent/page.html: error: ");
  expect_refused(
      run_assay({"report", dir_.at("bundle"), "-o", dir_.at("page.html"), "--before", "all"}),
      "elementwise");
}

TEST_F(ReportCommand, WithoutGraphviz) {
  compile();
  expect_refused(run_assay({"report", dir_.at("bundle"), "-o", dir_.at("page.html")},
                           {{"PATH", dir_.at(".")}}),
                 "there is no program 'dot' on PATH\nhint: install the package graphviz");
  const std::string dot = dir_.at("dot");
  std::ofstream(dot) << "#!/bin/sh\necho 'syntax error' >&2\nexit 1\n";
  fs::permissions(dot, fs::perms::owner_all);
  expect_refused(run_assay({"report", dir_.at("bundle"), "-o", dir_.at("page.html")},
                           {{"PATH", dir_.at(".")}}),
                 "could not draw the graph: syntax error");
}

}  // namespace
}  // namespace assay::test
