// scripts/probe-android with a fake adb: the order of its commands, and messages about missing
// parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/files/files.h"
#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

const std::string kRoot = ASSAY_SOURCE_DIR;

Outcome probe_android(std::vector<std::string> arguments, const Environment& environment) {
  return run_program(kRoot + "/scripts/probe-android", arguments, environment);
}

struct Phone {  // an `adb` that notes what it is asked and knows one phone, or none
  explicit Phone(const std::string& state = "echo device") {
    EXPECT_EQ(write_text(dir.at("adb"), "#!/bin/sh\necho \"adb $*\" >> '" + dir.at("asked") +
                                            "'\n[ \"$1\" = -s ] && shift 2\n"
                                            "if [ \"$1\" = get-state ]; then " +
                                            state + "; fi\n"),
              Diags{});
    EXPECT_EQ(::chmod(dir.at("adb").c_str(), 0755), 0);
    EXPECT_EQ(write_text(dir.at("program"), "x"), Diags{});
  }
  Environment environment() const {
    return {{"PATH", dir.path() + ":/usr/bin:/bin"}, {"ANDROID_NDK", ""}, {"YAML_CPP_SOURCE", ""}};
  }
  std::string asked() const { return *read_text(dir.at("asked")); }
  ScratchDirectory dir;
};

TEST(ProbeAndroid, PushesRunsAndPulls) {
  const Phone phone;
  const std::string out = phone.dir.at("out");
  const Outcome o = probe_android({"-o", out, "--binary", phone.dir.at("program"), "--", "--device",
                                   "opencl:0", "--only", "a b"},
                                  phone.environment());
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(phone.asked(),
            "adb get-state\n"
            "adb shell mkdir -p /data/local/tmp/assay\n"
            "adb push " +
                phone.dir.at("program") +
                " /data/local/tmp/assay/assay-probe\n"
                "adb shell chmod 755 /data/local/tmp/assay/assay-probe\n"
                "adb shell cd /data/local/tmp/assay && "
                "LD_LIBRARY_PATH=/vendor/lib64:/system/vendor/lib64:/vendor/lib64/egl "
                "XDG_CACHE_HOME=/data/local/tmp/assay/cache TMPDIR=/data/local/tmp/assay "
                "./assay-probe --device opencl:0 --only a\\ b -o results\n"
                "adb pull /data/local/tmp/assay/results/. " +
                out + "\n");
  EXPECT_TRUE(directory_exists(out));
}

TEST(ProbeAndroid, ADryRunPrintsTheCommandsAndRunsNone) {
  const Phone phone;
  const std::vector<std::string> same = {"--serial",          "abc",      "-o",
                                         phone.dir.at("out"), "--binary", phone.dir.at("program")};
  std::vector<std::string> dry = same;
  dry.push_back("--dry-run");
  const Outcome o = probe_android(dry, phone.environment());
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_FALSE(file_exists(phone.dir.at("asked")));
  EXPECT_FALSE(directory_exists(phone.dir.at("out")));
  EXPECT_THAT(o.out, HasSubstr("$ adb -s abc push " + phone.dir.at("program")));
  const Outcome wet = probe_android(same, phone.environment());
  EXPECT_TRUE(wet.out.starts_with(o.out)) << "a run prints the commands of its dry run:\n"
                                          << wet.out << o.out;
}

TEST(ProbeAndroid, ADryRunNeedsNeitherAdbNorNdk) {
  const Outcome o = probe_android({"--dry-run"}, {{"PATH", "/usr/bin:/bin"}, {"ANDROID_NDK", ""}});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(
      o.out,
      HasSubstr("$ cmake --preset android\n$ cmake --build --preset android\n$ adb shell mkdir"));
}

TEST(ProbeAndroid, DevicesAreListedAndNothingIsPulled) {
  const Phone phone;
  const Outcome o =
      probe_android({"--devices", "--binary", phone.dir.at("program")}, phone.environment());
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(phone.asked(), HasSubstr("./assay-probe devices\n"));
  EXPECT_THAT(phone.asked(), testing::Not(HasSubstr("adb pull")));
}

void expect_fault(const Outcome& o, int code, const std::string& message) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_THAT(o.err, HasSubstr(message));
}

TEST(ProbeAndroid, WhatIsMissingIsNamed) {
  const Phone phone, none("echo 'error: no devices/emulators found' >&2; exit 1");
  ScratchDirectory empty;
  for (const char* tool : {"bash", "dirname", "sed", "env"})
    ASSERT_EQ(::symlink((std::string("/usr/bin/") + tool).c_str(), empty.at(tool).c_str()), 0);
  expect_fault(probe_android({}, {{"PATH", empty.path()}}), 3, "no adb on PATH");
  expect_fault(probe_android({}, none.environment()), 3,
               "no phone that adb can use (adb says: error: no devices/emulators found)");
  expect_fault(probe_android({}, phone.environment()), 1, "no NDK: set ANDROID_NDK");
  expect_fault(probe_android({"--binary", phone.dir.at("nothing")}, phone.environment()), 1,
               "there is no file");
  Environment ndk = phone.environment();
  ndk["ANDROID_NDK"] = phone.dir.at("ndk");
  std::filesystem::create_directories(phone.dir.at("ndk/build/cmake"));
  ASSERT_EQ(write_text(phone.dir.at("ndk/build/cmake/android.toolchain.cmake"), ""), Diags{});
  expect_fault(probe_android({}, ndk), 1, "no source of yaml-cpp");
  EXPECT_THAT(phone.asked(), testing::Not(HasSubstr("push")))
      << "no command runs before all is present";
}

TEST(ProbeAndroid, WrongArgumentsAreNamed) {
  const Phone phone;
  expect_fault(probe_android({"--binray", "x"}, phone.environment()), 2,
               "unknown option '--binray'");
  expect_fault(probe_android({"--serial"}, phone.environment()), 2, "--serial needs a value");
  expect_fault(probe_android({"--", "-o", "x"}, phone.environment()), 2, "named before the --");
  EXPECT_THAT(probe_android({"--help"}, phone.environment()).out,
              HasSubstr("--dry-run       print the commands"));
}

}  // namespace
}  // namespace assay::test
