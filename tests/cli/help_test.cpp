// Help texts against golden/*.txt; a missing golden file fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/cli/assay_process.h"

namespace assay::test {
namespace {

const std::vector<std::vector<std::string>> kCommands = {{"devices"},
                                                         {"probe"},
                                                         {"profile", "list"},
                                                         {"profile", "show"},
                                                         {"profile", "check"},
                                                         {"profile", "diff"},
                                                         {"profile", "merge"},
                                                         {"profile", "schema"},
                                                         {"compile"},
                                                         {"run"},
                                                         {"simulate"},
                                                         {"report"},
                                                         {"estimate"},
                                                         {"whatif"},
                                                         {"accuracy"},
                                                         {"validate"},
                                                         {"validate", "fusion"},
                                                         {"validate", "schedules"},
                                                         {"calibrate"}};

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/cli/golden/" + name + ".txt";
  if (std::getenv("ASSAY_REWRITE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing; ASSAY_REWRITE_GOLDEN=1 writes it";
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

TEST(Help, Overview) {
  const Outcome o = run_assay({"--help"});
  EXPECT_EQ(o.code, 0);
  expect_golden("assay", o.out);
  std::istringstream lines(o.out);
  size_t commands = 0;
  for (std::string line; std::getline(lines, line);) commands += line.starts_with("  ") ? 1 : 0;
  EXPECT_EQ(commands, kCommands.size()) << "the list above is of all of them";
  EXPECT_EQ(run_assay({"help"}).out, o.out);
  EXPECT_EQ(run_assay({}).err, o.out);
  EXPECT_EQ(run_assay({}).code, 2);
}

TEST(Help, EveryCommandFitsOneScreen) {
  for (const std::vector<std::string>& words : kCommands) {
    std::vector<std::string> arguments = words;
    arguments.push_back("--help");
    const Outcome o = run_assay(arguments);
    const std::string name = words.size() == 1 ? words[0] : words[0] + "_" + words[1];
    EXPECT_EQ(o.code, 0) << name;
    EXPECT_EQ(o.err, "") << name;
    EXPECT_LE(std::count(o.out.begin(), o.out.end(), '\n'), 24) << name;
    EXPECT_TRUE(o.out.find("examples:\n  assay ") != std::string::npos ||
                o.out.find("example: assay ") != std::string::npos)
        << name;
    expect_golden(name, o.out);
  }
}

TEST(Help, Version) {
  const Outcome o = run_assay({"--version"});
  EXPECT_EQ(o.code, 0);
  EXPECT_TRUE(o.out.starts_with("assay "));
}

TEST(Help, DidYouMean) {
  EXPECT_EQ(run_assay({"complie"}).err,
            "assay: there is no command 'complie'\nhint: did you mean 'compile'?\n");
  EXPECT_EQ(run_assay({"profile", "shwo"}).err,
            "assay: there is no command 'profile shwo'\nhint: did you mean 'profile show'?\n");
  EXPECT_EQ(run_assay({"run", "x", "--repaet", "3"}).err,
            "assay run: unknown option '--repaet'\nhint: did you mean '--repeat'?\n");
  EXPECT_EQ(run_assay({"zzz"}).code, 2);
  EXPECT_EQ(run_assay({"run", "x", "--repaet", "3"}).code, 2);
}

}  // namespace
}  // namespace assay::test
