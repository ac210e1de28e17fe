// Bundles for a limit of device memory: on disk, run, judged, simulated; the device never holds
// more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files/files.h"
#include "tests/compiler/image_builder.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/bundle.h"
#include "toolkit/compile.h"
#include "toolkit/devices.h"
#include "toolkit/profiles.h"
#include "toolkit/simulate.h"
#include "toolkit/summary.h"
#include "toolkit/verify_programs.h"

namespace assay::toolkit {
namespace {

using test::ScratchDirectory;
using testing::HasSubstr;

constexpr int64_t kMemory = 48 << 10;

template <class T>
T value_of(Result<T> r) {
  if (!r) throw std::runtime_error(render(r.diags()));
  return std::move(*r);
}

// Two levels with a skip connection; 40 KiB a tensor of the first.
ir::Graph network() {
  test::ImageBuilder b(11);
  const int x = b.input({3, 32, 40});
  const int first = b.unary(ir::ScalarOp::abs, b.conv(b.conv(x, 8, 3, 1, 1), 8, 3, 1, 1));
  const int deep = b.conv(b.pool(first, 2, 2, 0), 8, 3, 1, 1);
  const int back = b.concat(b.twice(deep), first, 0);
  b.g.outputs = {b.conv(back, 2, 3, 1, 1)};
  b.g.name = "small u-net";
  return b.g;
}

Bundle compiled(const std::string& profile, const std::string& api, int64_t memory,
                const ScratchDirectory& scratch) {
  CompileOptions options;
  options.api = api;
  options.build = false;
  options.cache_dir = scratch.at("cache");
  options.memory = memory;
  return value_of(compile_bundle(network(), value_of(load_profile(profile)), options));
}

RunOptions run_on(const std::string& device, const ScratchDirectory& scratch) {
  RunOptions options;
  options.device = device;
  options.repeat = 2;
  options.patience = 0;
  options.guarded = !device.starts_with("virtual:");
  options.cache_dir = scratch.at("cache");
  return options;
}

void expect_right(const Bundle& bundle, const RunOptions& options) {
  ASSERT_FALSE(bundle.plan.transfers.empty());
  EXPECT_LE(bundle.plan.arena_bytes + bundle.plan.weights_bytes, kMemory);
  const Values inputs = generate_inputs(bundle.graph, 1);
  const RunResult ran = value_of(run_bundle(bundle, inputs, options));
  const Verdict v = value_of(check_outputs(bundle.graph, inputs, ran.outputs));
  EXPECT_TRUE(v.verified) << options.device << ": " << v.max_relative_error;
  EXPECT_EQ(ran.steps.size(), bundle.plan.steps.size());
  ASSERT_EQ(ran.transfers.size(), 2U);
}

TEST(Streamed, ABundleRunsAndComesBack) {
  const ScratchDirectory scratch;
  const Bundle bundle = compiled("generic/x86-avx512-2core", "", kMemory, scratch);
  expect_right(bundle, run_on("cpu:0", scratch));
  ASSERT_EQ(render(write_bundle(bundle, scratch.at("bundle"))), "");
  const Bundle back = value_of(read_bundle(scratch.at("bundle")));
  EXPECT_EQ(back.plan, bundle.plan);
  EXPECT_EQ(back.weights, bundle.weights);
  EXPECT_EQ(back.transfers.size(), bundle.plan.transfers.size());
  expect_right(back, run_on("cpu:0", scratch));
  const Simulation again =
      value_of(simulate(scratch.at("bundle"), bundle.profile, SimulateOptions{}));
  EXPECT_NEAR(again.total.seconds, bundle.total.seconds, 1e-9 * bundle.total.seconds);
  ASSERT_EQ(again.transfers.size(), 2U);
  EXPECT_GT(again.transfers[0].bytes, int64_t{3} * 32 * 40 * 4);
}

// The chip has as much memory as the limit, so a larger plan would not be placed.
TEST(Streamed, TheDeviceHoldsNoMore) {
  const ScratchDirectory scratch;
  const std::string file = scratch.at("small.yaml");
  ASSERT_EQ(render(write_text(file,
                              "schema: assay/profile/1\nname: small\n"
                              "extends: generic/x86-avx512-2core\n"
                              "overrides:\n  - memory.dram.capacity=48 KiB\n")),
            "");
  const Bundle bundle = compiled(file, "", kMemory, scratch);
  expect_right(bundle, run_on("virtual:" + file, scratch));
  CompileOptions unlimited;
  unlimited.build = false;
  const auto refused = compile_bundle(network(), value_of(load_profile(file)), unlimited);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(render(refused.diags()), HasSubstr("--memory '48 KiB'"));
}

TEST(Streamed, OtherDevicesRunIt) {
  const ScratchDirectory scratch;
  const std::string file = scratch.at("threads.yaml");
  const std::string chip = value_of(
      read_text(std::string(ASSAY_SOURCE_DIR) + "/tests/runtime/vulkan/eight_threads.yaml"));
  ASSERT_EQ(render(write_text(scratch.at("eight.yaml"), chip)), "");
  ASSERT_EQ(render(write_text(file,
                              "schema: assay/profile/1\nname: threads\nextends: eight\n"
                              "memory:\n  - {name: host, per: host, managed: explicit, "
                              "bandwidth: {read: 8 GB/s, write: 6 GB/s}}\n")),
            "");
  for (const auto& [device, profile, api] :
       {std::tuple<std::string, std::string, std::string>{"opencl:0", "generic/x86-avx512-2core",
                                                          "opencl"},
        {"vulkan:0", file, "vulkan"},
        {"virtual:nvidia/v100-pcie-16gb", "nvidia/v100-pcie-16gb", ""}}) {
    const Bundle bundle = compiled(profile, api, kMemory, scratch);
    const Result<hwdesc::Target> target = target_of(bundle.profile, bundle.api);
    ASSERT_TRUE(target.ok());
    if (!open_ready(device, *target).ok()) continue;  // absent here
    expect_right(bundle, run_on(device, scratch));
  }
}

TEST(Streamed, ItIsNotRecordedAsOneLaunch) {
  const ScratchDirectory scratch;
  const Bundle bundle = compiled("generic/x86-avx512-2core", "", kMemory, scratch);
  RunOptions options = run_on("cpu:0", scratch);
  options.recorded = true;
  const auto ran = run_bundle(bundle, generate_inputs(bundle.graph, 1), options);
  ASSERT_FALSE(ran.ok());
  EXPECT_THAT(render(ran.diags()), HasSubstr("can not be recorded"));
}

}  // namespace
}  // namespace assay::toolkit
