// Plans whose steps run side by side on this machine's CPU, and on simulated chips.
#include <gtest/gtest.h>

#include "compiler/passes/place.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/synchronise.h"
#include "simulator/estimate.h"
#include "tests/compiler/scheduled_graphs.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/compile.h"
#include "toolkit/estimate_operators.h"
#include "toolkit/profiles.h"
#include "toolkit/run.h"
#include "toolkit/verify.h"

namespace assay::toolkit {
namespace {

// Each step on one of two units or on both, as drawn, in the plan's order.
void draw_schedule(ir::Plan& plan, std::mt19937& rng) {
  std::vector<compiler::Assigned> assigned;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const int where = static_cast<int>(rng() % 3);
    assigned.push_back({where == 1 ? 1 : 0, where == 0 ? 1 : 2, static_cast<double>(s), 0});
  }
  compiler::TouchedParts parts(plan);
  const auto waits = rng() % 2 == 0 ? compiler::WaitsFor::parts : compiler::WaitsFor::steps;
  plan.schedule =
      compiler::synchronised(plan, assigned, compiler::dependencies_of(plan), parts, waits);
  compiler::place_arena(plan);
}

TEST(ScheduleOnHost, DrawnGraphsAreRight) {
  const test::ScratchDirectory scratch;
  const Result<hwdesc::Profile> profile = load_profile("generic/x86-avx512-2core");
  ASSERT_TRUE(profile.ok());
  std::mt19937 rng(23);
  int scheduled = 0, waits = 0;
  const int rounds = test::rounds_of(8);
  for (int round = 0; round < rounds; ++round) {
    CompileOptions options;
    options.schedule = compiler::Schedule::always;
    options.build = false;
    options.cache_dir = scratch.at("cache");
    Result<Bundle> bundle = compile_bundle(test::drawn_graph(rng), *profile, options);
    ASSERT_TRUE(bundle.ok()) << render(bundle.diags());
    if (round % 2 == 1) draw_schedule(bundle->plan, rng);
    ASSERT_EQ(render(ir::verify(bundle->plan)), "");
    scheduled += bundle->plan.schedule.empty() ? 0 : 1;
    for (const ir::Command& c : bundle->plan.schedule) waits += c.kind == ir::Command::Kind::wait;
    RunOptions run;
    run.repeat = 50;
    run.patience = 0;
    run.guarded = run.traced = true;
    run.cache_dir = options.cache_dir;
    const Values inputs = generate_inputs(bundle->graph, static_cast<uint64_t>(round));
    const Result<RunResult> ran = run_bundle(*bundle, inputs, run);
    ASSERT_TRUE(ran.ok()) << render(ran.diags());
    const Result<Verdict> v = check_outputs(bundle->graph, inputs, ran->outputs);
    ASSERT_TRUE(v.ok()) << render(v.diags());
    EXPECT_TRUE(v->verified) << round << ": " << v->max_relative_error;
    EXPECT_EQ(ran->steps.size(), bundle->plan.steps.size());
    EXPECT_FALSE(ran->slices.empty());
  }
  EXPECT_GT(scheduled, rounds / 2);
  EXPECT_GT(waits, 0);
}

TEST(ScheduleOnHost, SimulatedChipsRunThem) {
  const test::ScratchDirectory scratch;
  std::mt19937 rng(29);
  for (const char* name : {"generic/x86-avx512-2core", "nvidia/v100-pcie-16gb"}) {
    const Result<hwdesc::Profile> profile = load_profile(name);
    ASSERT_TRUE(profile.ok());
    int scheduled = 0;
    for (int round = 0; round < 4; ++round) {
      CompileOptions options;
      options.schedule = compiler::Schedule::always;
      options.build = false;
      options.cache_dir = scratch.at("cache");
      const Result<Bundle> bundle = compile_bundle(test::drawn_graph(rng), *profile, options);
      ASSERT_TRUE(bundle.ok()) << render(bundle.diags());
      if (bundle->plan.schedule.empty()) continue;
      ++scheduled;
      RunOptions run;
      run.device = std::string("virtual:") + name;
      run.repeat = 1;
      run.traced = true;
      run.cache_dir = options.cache_dir;
      const Values inputs = generate_inputs(bundle->graph, static_cast<uint64_t>(round));
      const Result<RunResult> ran = run_bundle(*bundle, inputs, run);
      ASSERT_TRUE(ran.ok()) << render(ran.diags());
      EXPECT_EQ(render(ran->notes), "") << "each runs by its schedule";
      EXPECT_FALSE(ran->slices.empty());
      const Result<Verdict> v = check_outputs(bundle->graph, inputs, ran->outputs);
      ASSERT_TRUE(v.ok()) << render(v.diags());
      EXPECT_TRUE(v->verified) << name << ": " << v->max_relative_error;
    }
    EXPECT_GT(scheduled, 1) << name;
  }
}

// Rows of an estimate are operators one after the other, so that they add up to its total.
TEST(Estimate, IsOfOperatorsOneAfterTheOther) {
  const Result<hwdesc::Profile> profile = load_profile("nvidia/v100-sxm2-16gb");
  ASSERT_TRUE(profile.ok());
  EstimateOptions options;
  options.software = Software::assay;
  const auto estimator = OperatorEstimator::open(*profile, options);
  ASSERT_TRUE(estimator.ok()) << render(estimator.diags());
  std::mt19937 rng(23);
  const Result<GraphEstimate> e = estimator->estimate(test::drawn_graph(rng));
  ASSERT_TRUE(e.ok()) << render(e.diags());
  ASSERT_GT(e->operators.size(), 2U);
  const Result<hwdesc::Target> target = target_of(*profile, "");
  ASSERT_TRUE(target.ok());
  const model::Machine m = *model::prepare(*target);
  EXPECT_NEAR(e->total.seconds, simulator::simulate(*e->plan, m).total.seconds,
              1e-6 * e->total.seconds);
  EXPECT_GT(e->total.seconds, static_cast<double>(e->operators.size()) * m.launch.value);
}

}  // namespace
}  // namespace assay::toolkit
