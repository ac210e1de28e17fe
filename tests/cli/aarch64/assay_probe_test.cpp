// The program for 64-bit Arm, run by an emulator: it starts, lists devices, and from the same
// observations writes the same bytes as the program for this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files/files.h"
#include "tests/cli/assay_process.h"
#include "tests/cli/made_probe.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

const std::string kRoot = ASSAY_SOURCE_DIR, kLibraries = "/usr/aarch64-linux-gnu";

bool on_path(const std::string& program) {
  return run_program("/bin/sh", {"-c", "command -v " + program}).code == 0;
}

class Aarch64 : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const char* needed : {"aarch64-linux-gnu-g++", "qemu-aarch64", "apt-get", "dpkg"})
      if (!on_path(needed)) missing_ = needed;
    if (missing_.empty()) built_ = run_program(kRoot + "/scripts/aarch64.sh", {});
  }
  void SetUp() override {
    if (!missing_.empty())
      GTEST_SKIP() << "there is no " << missing_
                   << " here: scripts/bootstrap.sh --aarch64 installs it";
    ASSERT_EQ(built_.code, 0) << built_.out << built_.err;
    program_ = built_.out.substr(0, built_.out.find('\n'));
  }
  Outcome emulated(std::vector<std::string> arguments, const Environment& environment = {}) const {
    arguments.insert(arguments.begin(), {"qemu-aarch64", "-L", kLibraries, program_});
    return run_program("/usr/bin/env", arguments, environment);
  }

 private:
  static inline std::string missing_;
  static inline Outcome built_;
  std::string program_;
};

Outcome native(const std::vector<std::string>& arguments) {
  return run_program(ASSAY_PROBE_BINARY, arguments);
}

TEST_F(Aarch64, PrintsVersionAndHelp) {
  const Outcome o = emulated({"--version"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, native({"--version"}).out);
  EXPECT_EQ(emulated({"--help"}).out, native({"--help"}).out);
  EXPECT_EQ(emulated({"--devcie", "x"}).code, 2);
}

// A board without compiler or drivers: each is absent, with its reason.
TEST_F(Aarch64, DevicesThatAreAbsentSayWhy) {
  const Outcome o = emulated({"devices"}, {{"CXX", "no-such-compiler"},
                                           {"ASSAY_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so"},
                                           {"ASSAY_VULKAN_LIBRARY", "/nonexistent/libvulkan.so"}});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(
      o.out,
      HasSubstr(
          "cpu:0      not usable: the C++ compiler 'no-such-compiler' named by $CXX does not run"));
  EXPECT_THAT(o.out, HasSubstr("/nonexistent/libOpenCL.so"));
  EXPECT_THAT(o.out, HasSubstr("no Vulkan library: /nonexistent/libvulkan.so can not be opened"))
      << "glslang is linked in";
}

TEST_F(Aarch64, WritesTheSameProfileFromTheSameObservations) {
  const ScratchDirectory dir;
  record(dir.at("obs"), "opencl", 1.7);
  const Outcome here = native({"--from", dir.at("obs"), "-o", dir.at("here")});
  const Outcome there = emulated({"--from", dir.at("obs"), "-o", dir.at("there")});
  ASSERT_EQ(here.code, 0) << here.err;
  ASSERT_EQ(there.code, 0) << there.err;
  for (const char* name : {"/profile.yaml", "/report.html"}) {
    const std::string text = *read_text(dir.at("here") + name);
    EXPECT_GT(text.size(), 1000U);
    EXPECT_EQ(*read_text(dir.at("there") + name), text);
  }
}

}  // namespace
}  // namespace assay::test
