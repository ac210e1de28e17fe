// `assay-probe`: the same options and exit codes as `assay probe`, and no libraries to install.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/assay_process.h"
#include "tests/cli/made_probe.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string read(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(AssayProbe, WritesTheBytesThatAssayWrites) {
  const ScratchDirectory dir;
  record(dir.at("obs"), "opencl", 1);
  const Outcome ours = run_assay({"probe", "--from", dir.at("obs"), "-o", dir.at("ours")});
  const Outcome small = run_assay_probe({"--from", dir.at("obs"), "-o", dir.at("small")});
  ASSERT_EQ(ours.code, 0) << ours.err;
  ASSERT_EQ(small.code, 0) << small.err;
  for (const char* name : {"profile.yaml", "report.html", "observations/journal.jsonl"}) {
    const std::string text = read(dir.at("small/") + name);
    EXPECT_FALSE(text.empty()) << name;
    EXPECT_EQ(text, read(dir.at("ours/") + name)) << name;
  }
}

TEST(AssayProbe, ListsTheSameDevices) {
  EXPECT_EQ(run_assay_probe({"devices", "--format", "json"}).out,
            run_assay({"devices", "--format", "json"}).out);
}

TEST(AssayProbe, ExplainsItself) {
  const Outcome help = run_assay_probe({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(help.out.starts_with("usage: assay-probe --device ID -o DIR")) << help.out;
  EXPECT_THAT(help.out, HasSubstr("see `assay-probe devices`"));
  EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 24);
  EXPECT_EQ(run_assay_probe({"help"}).out, help.out);
  EXPECT_THAT(run_assay_probe({"devices", "--help"}).out, HasSubstr("usage: assay-probe devices"));
  EXPECT_EQ(
      "assay " + run_assay_probe({"--version"}).out.substr(std::string("assay-probe ").size()),
      run_assay({"--version"}).out);
}

void expect_fault(const Outcome& o, int code, const std::string& message) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_THAT(o.err, HasSubstr(message));
  EXPECT_EQ(o.out, "");
}

TEST(AssayProbe, WrongArgumentsGetAHint) {
  const ScratchDirectory dir;
  expect_fault(run_assay_probe({}), 2, "-o is missing");
  expect_fault(run_assay_probe({"devcies"}), 2,
               "assay-probe: there is no command 'devcies'\nhint: did you mean 'devices'?\n");
  expect_fault(run_assay_probe({"compile"}), 2, "`assay-probe --help` explains the program");
  expect_fault(run_assay_probe({"--devcie", "cpu:0"}), 2,
               "assay-probe: unknown option '--devcie'\nhint: did you mean '--device'?\n");
  expect_fault(run_assay_probe({"devices", "cpu:0"}), 2,
               "assay-probe devices: unknown argument 'cpu:0'");
  expect_fault(run_assay_probe({"--budget", "fill", "-o", dir.at("x")}), 2,
               "such as 40s, 3min or full");
  expect_fault(run_assay_probe({"--resume", "-o", dir.at("x.yaml")}), 2,
               "--resume needs the directory");
  expect_fault(run_assay_probe({"--from", dir.at("nowhere"), "-o", dir.at("x")}), 2,
               "journal.jsonl");
  expect_fault(run_assay_probe({"--device", "cpu:77", "-o", dir.at("x")}), 3,
               "there is no device 'cpu:77'");
  expect_fault(run_assay_probe({"--only", "clokc", "-o", dir.at("x")}), 2, "clokc");
}

TEST(AssayProbe, WithoutACompilerTheProcessorIsAbsent) {
  const ScratchDirectory dir;
  const Environment none = {{"CXX", ""}, {"PATH", "/nonexistent"}};
  const Outcome devices = run_assay_probe({"devices"}, none);
  EXPECT_EQ(devices.code, 0);
  EXPECT_THAT(devices.out, HasSubstr("cpu:0      not usable: no C++ compiler"));
  expect_fault(run_assay_probe({"--device", "cpu:0", "-o", dir.at("x")}, none), 3,
               "'cpu:0' is not usable: no C++ compiler");
}

// Libraries that the dynamic linker must find.
std::vector<std::string> needed_libraries(const std::string& program) {
  std::vector<std::string> out;
  FILE* listing = popen(("readelf -d '" + program + "'").c_str(), "r");
  char line[512];
  while (listing != nullptr && std::fgets(line, sizeof line, listing) != nullptr) {
    const std::string text = line;
    const size_t open = text.find('['), close = text.find(']');
    if (text.find("(NEEDED)") != std::string::npos)
      out.push_back(text.substr(open + 1, close - open - 1));
  }
  if (listing != nullptr) pclose(listing);
  return out;
}

TEST(AssayProbe, NeedsTheCLibraryOnly) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "sanitizers bring libraries of their own";
  const std::vector<std::string> needed = needed_libraries(ASSAY_PROBE_BINARY);
  EXPECT_THAT(needed, testing::Contains("libc.so.6"));
  for (const std::string& name : needed)
    EXPECT_TRUE(name.starts_with("libc.so") || name.starts_with("libm.so") ||
                name.starts_with("libdl.so") || name.starts_with("ld-linux"))
        << "assay-probe needs " << name;
}

}  // namespace
}  // namespace assay::test
