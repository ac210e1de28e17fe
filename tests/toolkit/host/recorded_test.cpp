// Plans with recorded launches: measured beside separate launches, predicted, and refused by
// devices that can not record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/toolkit/scratch_directory.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/simulate.h"
#include "toolkit/summary.h"

namespace assay::toolkit {
namespace {

using test::ScratchDirectory;
using testing::HasSubstr;

constexpr const char* kTwoSteps =
    "column_sum rows=256 columns=96";  // sums of few results are two tile-graphs

Result<Bundle> compiled(const char* op, const hwdesc::Profile& profile,
                        const ScratchDirectory& scratch) {
  CompileOptions options;
  options.build = false;
  options.fuse = compiler::Fuse::elementwise;  // one step has one launch either way
  options.cache_dir = scratch.at("cache");
  return compile_bundle(*operator_model(op), profile, options);
}

RunOptions recorded_on(const std::string& device, const ScratchDirectory& scratch) {
  RunOptions options;
  options.device = device;
  options.repeat = 1;
  options.warm_up = 0;
  options.recorded = true;
  options.cache_dir = scratch.at("cache");
  return options;
}

TEST(RecordedPlans, TakeLessAndArePredictedTo) {
  const char* name = "nvidia/a100-sxm4-40gb";
  const ScratchDirectory scratch;
  const hwdesc::Profile profile = *load_profile(name);
  const Result<Bundle> bundle = compiled(kTwoSteps, profile, scratch);
  ASSERT_TRUE(bundle.ok()) << render(bundle.diags());
  ASSERT_GE(bundle->plan.steps.size(), 2U);
  const auto run = run_bundle(*bundle, generate_inputs(bundle->graph, 0),
                              recorded_on(std::string("virtual:") + name, scratch));
  ASSERT_TRUE(run.ok()) << render(run.diags());
  const Summary s = summarize(*bundle, *run, {});
  ASSERT_TRUE(s.recorded && s.recorded->predicted);
  const auto& launch = profile.apis.at(0).launch;
  const double saved = static_cast<double>(bundle->plan.steps.size()) *
                       (launch.stream.value->v - launch.graph.value->v);
  EXPECT_NEAR(s.measured.median - s.recorded->measured.median, saved, 0.1 * saved);
  const double outside =
      launch.eager.value->v - launch.stream.value->v;  // the first of them is waited for
  EXPECT_NEAR(s.predicted_s + outside - s.recorded->predicted->seconds, saved, 0.1 * saved);
  EXPECT_NEAR(s.recorded->predicted->seconds / s.recorded->measured.median, 1, 0.1);
  EXPECT_EQ(to_json(s)["recorded"]["measured_s"], s.recorded->measured.median);
  EXPECT_EQ(to_json(s)["recorded"]["predicted_s"], s.recorded->predicted->seconds);
}

TEST(RecordedPlans, AreRefusedByDevicesThatCanNotRecord) {
  const ScratchDirectory scratch;
  const Result<Bundle> bundle =
      compiled("relu n=101", *load_profile("generic/x86-avx512-2core"), scratch);
  ASSERT_TRUE(bundle.ok()) << render(bundle.diags());
  const auto run =
      run_bundle(*bundle, generate_inputs(bundle->graph, 0), recorded_on("cpu:0", scratch));
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(render(run.diags()),
              HasSubstr("have no command buffer in which launches could be recorded"));
}

TEST(RecordedPlans, AreNotPredictedWithoutLaunchGraphInTheProfile) {
  const ScratchDirectory scratch;
  const auto refusal = [&](const char* name) {
    const hwdesc::Profile profile = *load_profile(name);
    const Result<Bundle> bundle = compiled("relu n=101", profile, scratch);
    const auto e = recorded_total(bundle->plan, profile, bundle->api);
    return e.ok() ? "" : render(e.diags());
  };
  EXPECT_THAT(refusal("nvidia/v100-pcie-16gb"),
              HasSubstr("apis.cuda.launch.graph is unknown in nvidia-v100-pcie-16gb"));
  EXPECT_THAT(
      refusal("generic/x86-avx512-2core"),
      HasSubstr("apis.cpp.device_barrier: a plan is one launch there, and nothing is recorded"));
}

}  // namespace
}  // namespace assay::toolkit
