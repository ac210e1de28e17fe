// Output and exit code of each command, end to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kProfile = "generic/x86-avx512-2core";

TEST(Commands, Devices) {
  const Outcome o = run_assay({"devices", "--format", "json"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(json::parse(o.out)["devices"][0]["id"], "cpu:0");
  EXPECT_THAT(run_assay({"devices"}).out, HasSubstr("cpu:0"));
}

TEST(Commands, Profiles) {
  EXPECT_THAT(run_assay({"profile", "list"}).out, HasSubstr("nvidia/a100-sxm4-40gb"));
  EXPECT_EQ(run_assay({"profile", "check", kProfile}).code, 0);
  EXPECT_EQ(run_assay({"profile", "diff", kProfile, kProfile}).code, 0);
  const Outcome diff = run_assay({"profile", "diff", "a100-sxm4-40gb", "a100-wide"});
  EXPECT_EQ(diff.code, 1);
  EXPECT_THAT(diff.out, HasSubstr("memory.hbm.bandwidth.read: "));
  const Outcome set = run_assay(
      {"profile", "show", kProfile, "--set", "topology.unit.count=7", "--format", "json"});
  ASSERT_EQ(set.code, 0) << set.err;
  for (const json& row : json::parse(set.out))
    if (row["path"] == "topology.unit.count") {
      EXPECT_EQ(row["value"], 7);
    }
}

TEST(Commands, ShownYamlIsAProfile) {
  const ScratchDirectory dir;
  const Outcome shown = run_assay({"profile", "show", kProfile, "--format", "yaml"});
  std::ofstream(dir.at("p.yaml")) << shown.out;
  EXPECT_EQ(run_assay({"profile", "diff", kProfile, dir.at("p.yaml")}).code, 0);
}

TEST(Commands, ABrokenProfileAnswersNo) {
  const ScratchDirectory dir;
  std::ofstream(dir.at("p.yaml")) << "schema: assay/profile/1\nname: x\n";
  const Outcome o = run_assay({"profile", "check", dir.at("p.yaml")});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.out, HasSubstr("error:"));
}

TEST(Commands, ATextThatIsNoProfileIsBadInput) {
  const ScratchDirectory dir;
  std::ofstream(dir.at("p.yaml"))
      << "schema: assay/profile/1\nname: x\nclocks: {core: {max: 3 GHzz}}\n";
  const Outcome o = run_assay({"profile", "check", dir.at("p.yaml")});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.out, HasSubstr("did you mean 'GHz'?"));
}

// A bundle's kernels are printed in the form of multiply-add that the profile chooses.
TEST(Commands, ABundleIsPrintedInTheFormsOfTheProfile) {
  const ScratchDirectory dir;
  const auto printed = [&](const std::string& form) {
    std::ofstream(dir.at("p.yaml"))
        << "schema: assay/profile/1\nname: chosen\nextends: qualcomm/adreno-640\n"
        << "apis: {opencl: {forms: {fma.f32: " << form << "}}}\n";
    const std::string bundle = dir.at(form + "-bundle");
    const Outcome o = run_assay({"compile", "--op", "matmul m=64 n=64 k=64", "--profile",
                                 dir.at("p.yaml"), "-o", bundle, "--no-build"});
    EXPECT_EQ(o.code, 0) << o.err;
    std::string all;
    for (const auto& kernel : std::filesystem::directory_iterator(bundle + "/kernels")) {
      std::ifstream file(kernel.path());
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  };
  EXPECT_THAT(printed("mad"), testing::AllOf(HasSubstr("mad("), testing::Not(HasSubstr("fma("))));
  EXPECT_THAT(printed("fma"), testing::AllOf(HasSubstr("fma("), testing::Not(HasSubstr("mad("))));
}

TEST(Commands, CompileRunCheckSummary) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle"), summary = dir.at("summary.json");
  const Environment cache = {{"XDG_CACHE_HOME", dir.at("cache")}};
  const Outcome compiled = run_assay(
      {"compile", "--op", "matmul m=100 n=77 k=51", "--profile", kProfile, "-o", bundle}, cache);
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("predicted"));
  const Outcome run = run_assay({"run", bundle, "--device", "cpu:0", "--repeat", "3", "--check",
                                 "--check-programs", "--summary", summary},
                                cache);
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("verified"));
  EXPECT_THAT(run.out, HasSubstr("\na: uniform in (-1, 1)\nb: uniform in (-1, 1)\n"));
  const json s = json::parse(std::ifstream(summary));
  EXPECT_EQ(s["inputs"].size(), 2U);
  EXPECT_TRUE(s["verified"].get<bool>());
  EXPECT_LT(s["max_relative_error"].get<double>(), 1e-5);
  EXPECT_GT(s["measured_s"].get<double>(), 0);
  EXPECT_EQ(s["interval_s"].size(), 2U);
  EXPECT_FALSE(s["operators"].empty());
}

// y = max(x, 0) of the inputs that were given.
TEST(Commands, OutputsAreWritten) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle"), in = dir.at("in.bin"), out = dir.at("out.bin");
  ASSERT_EQ(run_assay({"compile", "--op", "relu n=3", "--profile", kProfile, "-o", bundle}).code,
            0);
  const std::vector<float> x = {-1, 2, 3.5F};
  std::ofstream(in, std::ios::binary).write(reinterpret_cast<const char*>(x.data()), 12);
  const Outcome o = run_assay({"run", bundle, "--repeat", "1", "--input", in, "--output", out});
  ASSERT_EQ(o.code, 0) << o.err;
  std::vector<float> y(4);
  std::ifstream written(out, std::ios::binary);
  written.read(reinterpret_cast<char*>(y.data()), 16);
  EXPECT_EQ(written.gcount(), 12);
  EXPECT_EQ(y, (std::vector<float>{0, 2, 3.5F, 0}));
  const Outcome nowhere = run_assay({"run", bundle, "--output", dir.at("none/out.bin")});
  EXPECT_EQ(nowhere.code, 2);
}

TEST(Commands, AWrongReferenceAnswersNo) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle");
  ASSERT_EQ(
      run_assay({"compile", "--op", "matmul m=2 n=2 k=2", "--profile", kProfile, "-o", bundle})
          .code,
      0);
  std::ofstream(dir.at("ref.bin")) << std::string(16, '\x42');
  const Outcome o = run_assay({"run", bundle, "--reference", dir.at("ref.bin")});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.out, HasSubstr("WRONG"));
}

TEST(Commands, SimulateAForeignChip) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle");
  const Outcome compiled =
      run_assay({"compile", "--op", "matmul m=512 n=512 k=512", "--profile", "gc2", "-o", bundle});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("kernels were not printed"));
  EXPECT_THAT(compiled.err, HasSubstr("note: kernels were not printed, not built: no dialect file "
                                      "'poplar'"));
  const Outcome as_is = run_assay({"simulate", bundle, "--format", "json"});
  const Outcome faster =
      run_assay({"simulate", bundle, "--set", "memory.*.bandwidth*=2", "--format", "json"});
  ASSERT_EQ(as_is.code, 0) << as_is.err;
  ASSERT_EQ(faster.code, 0) << faster.err;
  EXPECT_LE(json::parse(faster.out)["total"]["seconds"].get<double>(),
            json::parse(as_is.out)["total"]["seconds"].get<double>());
  EXPECT_EQ(run_assay({"simulate", bundle, "--explain"}).code, 0);
  EXPECT_THAT(as_is.err, HasSubstr("note: no kernel can be printed: no dialect file 'poplar'"));
}

// A plan for two cores leaves a GPU idle.
TEST(Commands, SimulateSaysWhosePlanItIs) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("cpu"), op = "relu n=4194304", gpu = "h100-sxm5-80gb";
  const Outcome cpu =
      run_assay({"compile", "--op", op, "--profile", kProfile, "--no-build", "-o", bundle});
  ASSERT_EQ(cpu.code, 0) << cpu.err;
  const auto simulated = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate", bundle, "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome o = run_assay(words);
    EXPECT_EQ(o.code, 0) << o.err;
    return std::pair(json::parse(o.out), o.err);
  };
  const auto [own, silent] = simulated({});
  EXPECT_EQ(own["chosen_for"], own["profile"]);
  EXPECT_EQ(silent, "");
  const auto [foreign, warning] = simulated({"--profile", gpu});
  EXPECT_EQ(foreign["chosen_for"], "generic-x86-avx512-2core");
  EXPECT_EQ(foreign["profile"], "nvidia-h100-sxm5-80gb");
  EXPECT_THAT(warning, HasSubstr("warning: the programs were chosen for generic-x86-avx512-2core, "
                                 "not for nvidia-h100-sxm5-80gb"));
  EXPECT_THAT(warning, HasSubstr("`--rechoose`"));
  EXPECT_THAT(run_assay({"simulate", bundle, "--profile", gpu}).out,
              HasSubstr("on nvidia-h100-sxm5-80gb, programs chosen for generic-x86-avx512-2core"));
  const auto [chosen, quiet] = simulated({"--profile", gpu, "--rechoose"});
  EXPECT_EQ(chosen["chosen_for"], "nvidia-h100-sxm5-80gb");
  EXPECT_EQ(quiet, "");
  EXPECT_LT(10 * chosen["total"]["seconds"].get<double>(),
            foreign["total"]["seconds"].get<double>());
  // The same programs and time as those of a bundle for that chip.
  const std::string other = dir.at("gpu");
  ASSERT_EQ(run_assay({"compile", "--op", op, "--profile", gpu, "--no-build", "-o", other}).code,
            0);
  EXPECT_EQ(json::parse(run_assay({"simulate", other, "--format", "json"}).out)["total"],
            chosen["total"]);
  // Its packed panels are larger than the scratchpad there.
  const std::string staged = dir.at("staged");
  ASSERT_EQ(run_assay({"compile", "--op", "matmul m=2048 n=2048 k=2048", "--profile", kProfile,
                       "--no-build", "-o", staged})
                .code,
            0);
  const Outcome refused = run_assay({"simulate", staged, "--profile", gpu});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("chosen for generic-x86-avx512-2core, can not run on "
                                     "nvidia-h100-sxm5-80gb: "));
  EXPECT_THAT(refused.err, HasSubstr("`--rechoose`"));
  EXPECT_EQ(run_assay({"simulate", staged, "--profile", gpu, "--rechoose"}).code, 0);
  const auto [changed, note] = simulated({"--set", "memory.dram.bandwidth*=2"});
  EXPECT_THAT(note, HasSubstr("note: the programs were chosen for generic-x86-avx512-2core with "
                              "other values than these"));
  const Outcome no_graph =
      run_assay({"simulate", bundle + "/plan.yaml", "--profile", gpu, "--rechoose"});
  EXPECT_EQ(no_graph.code, 2);
  EXPECT_THAT(no_graph.err, HasSubstr("--rechoose needs the directory of a bundle"));
}

TEST(Commands, StepsOfSeveralProgramsAreExplained) {
  const ScratchDirectory dir;
  const auto compiled = [&](const char* fuse) {
    return run_assay({"compile", "--op", "layer_norm rows=4096 columns=1024", "--profile", kProfile,
                      "--fuse", fuse, "--explain", "--no-build", "-o", dir.at("bundle")});
  };
  const Outcome one = compiled("elementwise"), all = compiled("all");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(one.out, testing::AllOf(HasSubstr("  5 steps from 5 distinct programs"),
                                      testing::Not(HasSubstr("considered"))));
  EXPECT_THAT(all.out,
              testing::AllOf(HasSubstr("  1 steps from 1 distinct programs"),
                             HasSubstr("5 programs, "), HasSubstr(": a tile of "),
                             HasSubstr("considered:\n  layer_norm_squares -> layer_norm: "),
                             HasSubstr("  traffic l1<-l2: ")));
  const Outcome again = run_assay({"simulate", dir.at("bundle"), "--rechoose", "--explain"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("layer_norm_squares + layer_norm 4096x1024\n"))
      << "in one step, as it was chosen";
  const Outcome wrong = compiled("most");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("elementwise"));
}

// What a program says and nothing honours is refused where it stands.
TEST(Commands, SimulateRefusesWhatItCanNotPrice) {
  const ScratchDirectory dir;
  const std::string text = R"yaml(schema: assay/program/1
name: mm
graph:
  name: mm
  tensors: {a: f32 64x64, b: f32 64x64, c: f32 64x64}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 64, n: 64, k: 64}, combine: sum,
       body: "a[m, k] * b[k, n]"}
tiles:
  - {memory: l1, extent: {m: 64, n: 64, k: 64}, order: [m, n]}
  - {memory: registers, extent: {m: 4, n: 32, k: 1}, order: [m, n, k]}
vector: {axis: n, width: 32}
)yaml";
  const auto outcome = [&](const std::string& more, const char* profile) {
    std::ofstream(dir.at("p.yaml")) << text << more;
    return run_assay({"simulate", dir.at("p.yaml"), "--profile", profile});
  };
  EXPECT_EQ(outcome("", "h100-sxm5-80gb").code, 0);
  const Outcome unknown = outcome("instruction: banana\n", "h100-sxm5-80gb");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err,
              HasSubstr("p.yaml:15:14: error: mm: there is no matrix instruction 'banana'"));
  const Outcome known = outcome("instruction: gfx90a.mfma.f32.32x32x8.f16\n", "h100-sxm5-80gb");
  EXPECT_EQ(known.code, 2);
  EXPECT_THAT(known.err, HasSubstr("p.yaml:15:14: error: mm: nvidia-h100-sxm5-80gb has no matrix "
                                   "instruction 'gfx90a.mfma.f32.32x32x8.f16'"));
  const std::string staged = "staging: [{read: 1, level: 0, layout: \"[0, 1]\"}]\n";
  EXPECT_EQ(outcome(staged + "pipeline_stages: 2\n", "h100-sxm5-80gb").code, 0);
  const Outcome no_mover = outcome(staged + "pipeline_stages: 2\n", "v100-pcie-16gb");
  EXPECT_EQ(no_mover.code, 2);
  EXPECT_THAT(no_mover.err, HasSubstr("p.yaml:16:18: error: mm: pipeline_stages 2: "
                                      "nvidia-v100-pcie-16gb has no mover"));
  std::ofstream(dir.at("tiny.yaml"))
      << "schema: assay/profile/1\nname: tiny\nextends: hypothetical/every-field\n"
         "overrides: [memory.shared.capacity=15 KiB]\n";
  EXPECT_EQ(outcome(staged, "every-field").code, 0);
  const Outcome too_large = outcome(staged, dir.at("tiny.yaml").c_str());
  EXPECT_EQ(too_large.code, 2);
  EXPECT_THAT(too_large.err, HasSubstr("p.yaml:15:10: error: mm: staged copies of 16384 B exceed "
                                       "the 15360 B of group memory"));
  EXPECT_THAT(outcome(staged + "split_k: 2\n", "h100-sxm5-80gb").err,
              HasSubstr("split-k is not supported"));
}

// Kernels for a chip without a driver here are printed; a note says that they were not built.
TEST(Commands, CompileForAnAbsentDevice) {
  const ScratchDirectory dir;
  const std::string bundle = dir.at("bundle");
  const Outcome o = run_assay({"compile", "--api", "cuda", "--profile", "nvidia/a100-sxm4-40gb",
                               "--op", "matmul m=512 n=512 k=512", "-o", bundle},
                              {{"ASSAY_CUDA_LIBRARY", "/nonexistent/libcuda.so"}});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.err, HasSubstr("note: kernels were printed, not built: no device here runs api "
                               "'cuda': no CUDA driver: /nonexistent/libcuda.so"));
  const Outcome ran =
      run_assay({"run", bundle}, {{"ASSAY_CUDA_LIBRARY", "/nonexistent/libcuda.so"}});
  EXPECT_EQ(ran.code, 3);
  EXPECT_TRUE(ran.err.starts_with(
      "error: no device here runs api 'cuda': no CUDA driver: /nonexistent/libcuda.so"))
      << ran.err;
  std::ifstream kernel(bundle + "/kernels/matmul_0.cuda");
  std::stringstream text;
  text << kernel.rdbuf();
  EXPECT_THAT(
      text.str(),
      ContainsRegex("extern \"C\" __global__ void __launch_bounds__\\([0-9]+\\) matmul_0\\("));
}

TEST(Commands, ValidateWritesTablePictureAndJournal) {
  const ScratchDirectory dir;
  const Environment cache = {{"XDG_CACHE_HOME", dir.at("cache")}};
  std::ofstream(dir.at("s.yaml"))
      << "schema: assay/suite/1\nname: tiny\noperators: [matmul m=16 n=16 k=8]\n";
  std::vector<std::string> words = {
      "validate",   "--profile", kProfile,   "--suite", dir.at("s.yaml"), "-o",  dir.at("t.csv"),
      "--programs", "4",         "--repeat", "1",       "--format",       "json"};
  const Outcome o = run_assay(words, cache);
  ASSERT_EQ(o.code, 0) << o.err << o.out;
  const json j = json::parse(o.out);
  for (const char* key : {"mape", "mape_all", "coverage", "half_width_median", "regret_geomean"})
    EXPECT_TRUE(j.at(key).is_number()) << key;
  EXPECT_TRUE(j.contains("spearman_median") && j.contains("kendall_good_median"));
  EXPECT_EQ(j["wrong"], 0);
  EXPECT_EQ(j["operators"][0]["programs"], 4);
  for (const char* file : {"t.csv", "t.svg", "t.journal"})
    EXPECT_TRUE(std::filesystem::exists(dir.at(file))) << file;
  words.back() = "text";
  words.push_back("--resume");
  const Outcome again = run_assay(words, cache);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("1 of 1 operators"));
}

// exp has no bound of its own: the limit of whole results allows for the digits of the type.
TEST(Commands, ValidateJudgesByTheOperatorsType) {
  const ScratchDirectory dir;
  std::ofstream(dir.at("s.yaml")) << "schema: assay/suite/1\nname: typed\noperators: [exp n=100 "
                                     "type=bf16, exp n=99 type=f16]\n";
  const Outcome o =
      run_assay({"validate", "--profile", kProfile, "--suite", dir.at("s.yaml"), "-o",
                 dir.at("t.csv"), "--programs", "2", "--repeat", "1", "--format", "json"},
                {{"XDG_CACHE_HOME", dir.at("cache")}});
  ASSERT_EQ(o.code, 0) << o.err << o.out;
  EXPECT_EQ(json::parse(o.out)["wrong"], 0);
}

TEST(Commands, CalibrateIsShownBesideWhatIsPredicted) {
  const ScratchDirectory dir;
  const Environment cache = {{"XDG_CACHE_HOME", dir.at("cache")}};
  std::ofstream(dir.at("s.yaml"))
      << "schema: assay/suite/1\nname: tiny\noperators: [matmul m=16 n=16 k=8, relu n=64]\n";
  const std::string table = dir.at("t.csv"), journal = dir.at("t.journal"), made = dir.at("c.yaml");
  const Outcome measured =
      run_assay({"validate", "--profile", kProfile, "--suite", dir.at("s.yaml"), "-o", table,
                 "--programs", "4", "--repeat", "1"},
                cache);
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Outcome calibrated = run_assay({"calibrate", journal, "--profile", kProfile, "-o", made});
  ASSERT_EQ(calibrated.code, 0) << calibrated.err;
  EXPECT_THAT(calibrated.out, ContainsRegex("matmul +1 +4 "));
  EXPECT_THAT(calibrated.out, HasSubstr("calibrated by other operators"));
  EXPECT_EQ(calibrated.out.find("-> " + made), calibrated.out.rfind("-> " + made))
      << "printed once";

  const Outcome judged = run_assay({"validate", "--profile", kProfile, "--from", journal, "-o",
                                    dir.at("u.csv"), "--calibration", made, "--format", "json"});
  ASSERT_EQ(judged.code, 0) << judged.err;
  const json with = json::parse(judged.out);
  EXPECT_NE(with["calibrated"]["mape_all"].get<double>(), with["mape_all"].get<double>());

  const std::string bundle = dir.at("bundle");
  ASSERT_EQ(
      run_assay({"compile", "--op", "matmul m=16 n=16 k=8", "--profile", kProfile, "-o", bundle},
                cache)
          .code,
      0);
  const Outcome simulated =
      run_assay({"simulate", bundle, "--calibration", made, "--format", "json"});
  ASSERT_EQ(simulated.code, 0) << simulated.err;
  const json total = json::parse(simulated.out)["total"];
  const Outcome run =
      run_assay({"run", bundle, "--repeat", "3", "--calibration", made, "--format", "json"}, cache);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_DOUBLE_EQ(json::parse(run.out)["calibrated"]["predicted_s"].get<double>(),
                   total["calibrated"]["seconds"].get<double>());
  EXPECT_NE(total["calibrated"]["seconds"].get<double>(), total["seconds"].get<double>());
  EXPECT_THAT(run_assay({"run", bundle, "--repeat", "1", "--calibration", made}, cache).out,
              HasSubstr("calibrated"));
}

TEST(Commands, CtrlCEndsWith130) {
  const ScratchDirectory dir;
  const Outcome o = run_assay_and_signal(
      {"probe", "--device", "cpu:0", "--budget", "60s", "-o", dir.at("p.yaml")}, SIGINT, 2);
  EXPECT_EQ(o.code, 130) << o.err;
  EXPECT_FALSE(std::filesystem::exists(dir.at("p.yaml")));
}

TEST(Commands, AFailedCheckEndsWith70) {
  const ScratchDirectory dir;
  const Outcome o = run_assay_and_signal(
      {"probe", "--device", "cpu:0", "--budget", "60s", "-o", dir.at("p.yaml")}, SIGABRT, 0.5);
  EXPECT_EQ(o.code, 70) << o.err;
}

}  // namespace
}  // namespace assay::test
