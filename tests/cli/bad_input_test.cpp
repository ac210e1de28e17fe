// Every kind of wrong input ends with its exit code and a message, never with a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

constexpr const char* kProfile = "generic/x86-avx512-2core";

std::string write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

std::string read_all(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void expect_bad(const Outcome& o, const std::string& message, int code = 2) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_THAT(o.err, HasSubstr(message));
  EXPECT_EQ(o.out, "");
}

TEST(BadInput, MissingFiles) {
  const ScratchDirectory dir;
  const std::string out = dir.at("bundle");
  expect_bad(run_assay({"compile", dir.at("no.onnx"), "--profile", kProfile, "-o", out}),
             "no.onnx: error: there is no such file");
  expect_bad(run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--profile", dir.at("no.yaml"),
                        "-o", out}),
             "there is no such file");
  expect_bad(run_assay({"profile", "show", "a100-wid"}), "did you mean 'a100-wide'?");
  expect_bad(run_assay({"profile", "check", dir.at("no.yaml")}), "there is no such file");
  expect_bad(run_assay({"run", dir.at("none")}), "there is no such directory");
  expect_bad(run_assay({"run", dir.path()}), "is not a bundle");
  expect_bad(run_assay({"simulate", dir.at("none.yaml"), "--profile", kProfile}),
             "there is no such file");
  expect_bad(run_assay({"probe", "--from", dir.at("none"), "-o", dir.at("p.yaml")}), "error:");
  expect_bad(run_assay({"simulate", dir.at("none")}), "there is no such file");
  expect_bad(run_assay({"profile", "check", "nvidia/h2000"}), "did you mean 'nvidia/h200'?");
  expect_bad(run_assay({"profile", "check", dir.path()}), "is a directory without a profile.yaml");
}

TEST(BadInput, LimitsOfMemory) {
  const ScratchDirectory dir;
  const auto compiled = [&](const std::string& memory) {
    return run_assay({"compile", "--op", "matmul m=64 n=64 k=64", "--profile", kProfile, "-o",
                      dir.at("out"), "--no-build", "--memory", memory});
  };
  expect_bad(compiled("64"), "--memory '64': '64' has no unit");
  expect_bad(compiled("0 B"), "at least one byte");
  expect_bad(compiled("12 GHz"), "a size is expected here");
  expect_bad(compiled("-1KiB"), "--memory '-1KiB'");
  expect_bad(compiled("100B"), "the smallest strip of matmul");
  EXPECT_EQ(compiled("1MiB").code, 0);
  EXPECT_EQ(compiled("24KiB").code, 0);
  EXPECT_THAT(read_all(dir.at("out/plan.yaml")), HasSubstr("\nmemory: 24576\n"));
}

TEST(BadInput, Calibrate) {
  const ScratchDirectory dir;
  const std::string made = dir.at("c.yaml"),
                    journal = write(dir.at("t.journal"), "{\"kind\":\"run\"}\n");
  expect_bad(run_assay({"calibrate", "--profile", kProfile, "-o", made}), "JOURNAL");
  expect_bad(run_assay({"calibrate", dir.at("none.journal"), "--profile", kProfile, "-o", made}),
             "there is no such file");
  expect_bad(run_assay({"calibrate", journal, "--profile", kProfile, "-o", made}),
             "t.journal:1: error:");
  EXPECT_FALSE(std::filesystem::exists(made));
  const std::string broken =
      write(dir.at("b.yaml"), "schema: assay/calibration/1\nclasses: {any: {factor: quick}}\n");
  expect_bad(run_assay({"validate", "--profile", kProfile, "-o", dir.at("t.csv"), "--calibration",
                        broken}),
             "b.yaml:2:25: error: 'factor' is 'quick'");
  expect_bad(run_assay({"simulate", dir.path(), "--profile", kProfile, "--calibration", broken}),
             "error:");
}

TEST(BadInput, Validate) {
  const ScratchDirectory dir;
  const std::string table = dir.at("t.csv");
  expect_bad(run_assay({"validate", "--profile", kProfile, "--suite", "operatorz", "-o", table}),
             "the library has operators, quick");
  expect_bad(run_assay({"validate", "--profile", kProfile, "-o", table, "--resume"}),
             "there is no journal");
  expect_bad(run_assay({"validate", "--profile", kProfile, "-o", table, "--programs", "1"}),
             "--programs");
  expect_bad(run_assay({"validate", "--profile", kProfile, "-o", dir.at("none/t.csv")}), "error:");
  expect_bad(run_assay({"validate", "--profile", kProfile, "-o", table, "--device", "tpu:0"}),
             "tpu:0", 3);
  expect_bad(run_assay({"validate", "--profile", "a100-sxm4-40gb", "-o", table}), "runs api 'cpp'",
             3);
  const std::string suite =
      write(dir.at("s.yaml"), "schema: assay/suite/1\nname: x\noperators: [relu m=4]\n");
  expect_bad(run_assay({"validate", "--profile", kProfile, "--suite", suite, "-o", table}),
             "s.yaml:3:13: error:");
  const std::string journal = write(dir.at("t.journal"), "{\"kind\":\"run\"}\n");
  expect_bad(
      run_assay({"validate", "--profile", kProfile, "--suite", "quick", "-o", table, "--resume"}),
      "the journal of another run");
}

TEST(BadInput, MalformedFiles) {
  const ScratchDirectory dir;
  const std::string out = dir.at("bundle");
  const std::string yaml =
      write(dir.at("bad.yaml"), "schema: assay/profile/1\nname: x\nclocks: {core: 3 GHZ\n");
  expect_bad(run_assay({"profile", "show", yaml}), "bad.yaml:");
  const std::string misspelt =
      write(dir.at("misspelt.yaml"), "schema: assay/profile/1\nname: x\nclokcs: {core: 3 GHz}\n");
  expect_bad(run_assay({"profile", "show", misspelt}), "misspelt.yaml:3:1: error:");
  expect_bad(run_assay({"simulate", yaml, "--profile", kProfile}), "bad.yaml:");
  const std::string onnx = write(dir.at("cut.onnx"), std::string("\x08\x07\x12\x10py", 6));
  expect_bad(run_assay({"compile", onnx, "--profile", kProfile, "-o", out}), "cut.onnx");
  expect_bad(
      run_assay({"compile", write(dir.at("empty.onnx"), ""), "--profile", kProfile, "-o", out}),
      "empty.onnx");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(BadInput, WrongOptions) {
  const ScratchDirectory dir;
  const std::string out = dir.at("bundle");
  expect_bad(run_assay({"compile", "-o", out}), "--profile is required");
  expect_bad(run_assay({"compile", "--profile", kProfile, "-o", out}),
             "one of MODEL.onnx and --op is needed");
  expect_bad(
      run_assay({"compile", "--op", "matmull m=2 n=2 k=2", "--profile", kProfile, "-o", out}),
      "matmull");
  expect_bad(run_assay({"compile", "--op", "matmul m=2 n=2", "--profile", kProfile, "-o", out}),
             "error:");
  expect_bad(run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile, "--api",
                        "metal", "-o", out}),
             "has no api 'metal'");
  expect_bad(run_assay({"compile", "x.onnx", "--dim", "N", "--profile", kProfile, "-o", out}),
             "--dim 'N' is not NAME=NUMBER");
  expect_bad(run_assay({"run", "x", "--repeat", "none"}), "--repeat");
  expect_bad(run_assay({"run", "x", "--repeat", "0"}), "--repeat");
  expect_bad(run_assay({"devices", "--format", "xml"}), "--format");
  expect_bad(run_assay({"profile", "show", kProfile, "--set", "clocks.cor=1 GHz"}), "--set:1:");
  expect_bad(run_assay({"probe", "-o", dir.at("p.yaml"), "--budget", "soon"}),
             "--budget 'soon' is not a time");
  expect_bad(run_assay({"probe", "-o", dir.at("p.yaml"), "--resume"}),
             "--resume needs the directory to continue");
  expect_bad(run_assay({"probe", "-o", dir.at("p.yaml"), "--only", "nosuch"}),
             "there is no experiment 'nosuch'");
  expect_bad(run_assay({"compile", "x.onnx", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile,
                        "-o", out}),
             "are both given");
  expect_bad(run_assay({"compile", "x.onnx", "--dim", "N=1", "--dim", "N=2", "--profile", kProfile,
                        "-o", out}),
             "--dim N is given twice");
  expect_bad(run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--dim", "N=1", "--profile",
                        kProfile, "-o", out}),
             "--dim is for models");
  const Outcome one =
      run_assay({"compile", "--op", "matmul m=0 n=2 k=2", "--profile", kProfile, "-o", out});
  EXPECT_EQ(one.err, "error: 'm=0' is not m=<whole number from 1 to 2^40>\n")
      << "and not missing as well";
  expect_bad(run_assay({"compile", "--op", "matmul m=512 n=512 k=512", "--profile", kProfile,
                        "--set", "memory.dram.capacity=1 MiB", "-o", out}),
             "intermediate values and weights take 3076 KiB, memory.dram of "
             "generic-x86-avx512-2core has 1 MiB");
  expect_bad(run_assay({"validate", "--profile", kProfile, "-o", dir.at("t.svg")}),
             "its .svg is written beside it");
}

// An unwritable standard output is an error.
TEST(BadInput, AFullStandardOutput) {
  const ScratchDirectory dir;
  for (const char* command : {"devices", "'profile' 'list'", "'profile' 'schema'",
                              "'profile' 'show' 'generic/x86-avx512-2core'"}) {
    const std::string limited = "(ulimit -f 0; exec '" + std::string(ASSAY_BINARY) + "' " +
                                command + ") > '" + dir.at("out") + "'";
    const Outcome o = run_program("/bin/sh", {"-c", "(" + limited + "; echo $?) 2>&1 | cat"});
    EXPECT_EQ(o.out, "assay: standard output can not be written: File too large\n2\n") << command;
  }
}

TEST(BadInput, UnwritableOutput) {
  const ScratchDirectory dir;
  const std::string deep = dir.at("no/such/place");
  expect_bad(
      run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile, "-o", deep}),
      "cannot be written");
  expect_bad(run_assay({"probe", "-o", deep}), "cannot be written");
  const std::string file = write(dir.at("file"), "mine");
  expect_bad(run_assay({"probe", "-o", file}), "file: error: exists, and is no directory");
  EXPECT_EQ(read_all(file), "mine");
  expect_bad(run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile, "-o", file,
                        "--no-build"}),
             "is a file, a directory was expected");
  std::filesystem::create_directory(dir.at("mine"));
  write(dir.at("mine/thesis.tex"), "");
  expect_bad(run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile, "-o",
                        dir.at("mine"), "--no-build"}),
             "only a directory with plan.yaml");
}

TEST(BadInput, AFormThatTheDialectLacks) {
  const ScratchDirectory dir;
  const std::string profile =
      write(dir.at("p.yaml"),
            "schema: assay/profile/1\nname: chosen\nextends: qualcomm/adreno-640\n"
            "apis: {opencl: {forms: {fma.f32: madd}}}\n");
  const std::string bundle = dir.at("bundle");
  expect_bad(run_assay({"compile", "--op", "matmul m=64 n=64 k=64", "--profile", profile, "-o",
                        bundle, "--no-build"}),
             "apis.opencl.forms.fma.f32: dialect opencl has no form 'madd' of 'fma'");
  EXPECT_FALSE(std::filesystem::exists(bundle));
}

TEST(BadInput, AbsentDevice) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle");
  ASSERT_EQ(run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile, "-o", bundle,
                       "--no-build"})
                .code,
            0);
  expect_bad(run_assay({"run", bundle, "--device", "cpu:7"}), "there is no device 'cpu:7'", 3);
  expect_bad(run_assay({"probe", "--device", "cpu:7", "-o", dir.at("p.yaml")}),
             "there is no device 'cpu:7'", 3);
}

TEST(BadInput, NoCompiler) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle");
  const Environment none = {{"CXX", "missing-compiler"}, {"PATH", ""}};
  const Outcome compiled = run_assay(
      {"compile", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile, "-o", bundle}, none);
  EXPECT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_THAT(compiled.err, HasSubstr("missing-compiler"));
  expect_bad(run_assay({"run", bundle}, none), "missing-compiler", 3);
  EXPECT_EQ(run_assay({"devices"}, none).code, 0);
}

TEST(BadInput, InputOfAnotherSize) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle");
  ASSERT_EQ(run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile, "-o", bundle,
                       "--no-build"})
                .code,
            0);
  expect_bad(run_assay({"run", bundle, "--input", write(dir.at("in.bin"), "1234")}),
             "holds 4 bytes, the inputs of operator:matmul are 32");
}

}  // namespace
}  // namespace assay::test
