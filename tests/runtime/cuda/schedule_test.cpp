// Plans with schedules for a GPU of four units, whose kernels the tests' own driver (host/) runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/passes/place.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/synchronise.h"
#include "compiler/schedule/touched_parts.h"
#include "tests/compiler/scheduled_graphs.h"
#include "tests/runtime/child.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/run.h"
#include "toolkit/verify.h"

namespace assay::toolkit {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr int kUnits = 4;

hwdesc::Profile profile_of_four_units() {
  auto profile = load_profile("nvidia/v100-pcie-16gb");
  if (!profile) throw std::runtime_error(render(profile.diags()));
  profile->topology[0].count.value = hwdesc::Count{kUnits};
  profile->execution.resident.groups.value = hwdesc::Count{16};  // as the driver says
  return *profile;
}

std::string said(const testing::Variables& variables, const std::function<std::string()>& body) {
  testing::Variables all = {{"ASSAY_CUDA_LIBRARY", HOST_CUDA}, {"ASSAY_NVRTC_LIBRARY", HOST_CUDA}};
  all.insert(all.end(), variables.begin(), variables.end());
  return testing::said_in_child(all, body);
}

// Each step on some of the units, as drawn, in the plan's order.
void draw_schedule(ir::Plan& plan, std::mt19937& rng) {
  std::vector<compiler::Assigned> assigned;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const int first = static_cast<int>(rng() % kUnits);
    const int units = 1 + static_cast<int>(rng() % static_cast<unsigned>(kUnits - first));
    assigned.push_back({first, first + units, static_cast<double>(s), 0});
  }
  compiler::TouchedParts parts(plan);
  plan.phases.clear();  // that were chosen
  const auto waits = rng() % 2 == 0 ? compiler::WaitsFor::parts : compiler::WaitsFor::steps;
  plan.schedule =
      compiler::synchronised(plan, assigned, compiler::dependencies_of(plan), parts, waits);
  plan.resident = 1 + static_cast<int>(rng() % 3);
  compiler::place_arena(plan);
}

struct Counts {
  int schedules = 0, waits = 0, shared = 0;
};

// "": it is right.
std::string run_one(std::mt19937& rng, const std::string& cache, bool drawn, Counts& counts) {
  CompileOptions options;
  options.schedule = compiler::Schedule::always;
  options.build = false;
  options.cache_dir = cache;
  Result<Bundle> bundle = compile_bundle(test::drawn_graph(rng), profile_of_four_units(), options);
  if (!bundle) return render(bundle.diags());
  if (drawn) draw_schedule(bundle->plan, rng);
  if (const Diags wrong = ir::verify(bundle->plan); !wrong.empty()) return render(wrong);
  counts.schedules += bundle->plan.schedule.empty() ? 0 : 1;
  counts.shared += bundle->plan.resident > 1 ? 1 : 0;
  for (const ir::Command& c : bundle->plan.schedule)
    counts.waits += c.kind == ir::Command::Kind::wait;
  RunOptions run;
  run.device = "cuda:0";
  run.repeat = 3;
  run.patience = 0;
  run.guarded = run.traced = true;
  run.cache_dir = cache;
  const Values inputs = generate_inputs(bundle->graph, 1);
  const Result<RunResult> ran = run_bundle(*bundle, inputs, run);
  if (!ran) return render(ran.diags());
  const Result<Verdict> v = check_outputs(bundle->graph, inputs, ran->outputs);
  if (!v) return render(v.diags());
  if (!v->verified) return "wrong\n" + ir::print_plan(bundle->plan);
  if (bundle->plan.schedule.empty()) return "";
  if (!ran->notes.empty()) return render(ran->notes);
  return ran->slices.empty() ? "no slices" : "";
}

TEST(CudaSchedule, drawn_graphs_are_right) {
  EXPECT_THAT(said({},
                   [] {
                     const test::ScratchDirectory scratch;
                     std::mt19937 rng(31);
                     Counts counts;
                     for (int round = 0; round < test::rounds_of(6); ++round) {
                       const std::string wrong =
                           run_one(rng, scratch.at("cache"), round % 3 != 0, counts);
                       if (!wrong.empty()) return "round " + std::to_string(round) + ": " + wrong;
                     }
                     return counts.schedules > 3 && counts.waits > 0 && counts.shared > 0
                                ? std::string("right")
                                : std::string("too few schedules");
                   }),
              "right");
}

// How a plan with a barrier behind each step runs, and its notes.
std::string notes_of(int units, int resident, const std::string& cache) {
  CompileOptions options;
  options.schedule = compiler::Schedule::off;
  options.build = false;
  options.cache_dir = cache;
  std::mt19937 rng(5);
  Result<Bundle> bundle = compile_bundle(test::drawn_graph(rng), profile_of_four_units(), options);
  if (!bundle) return render(bundle.diags());
  bundle->plan.units = units;
  bundle->plan.resident = resident;
  bundle->plan.schedule = ir::schedule_of(bundle->plan);
  RunOptions run;
  run.device = "cuda:0";
  run.repeat = 1;
  run.traced = true;
  run.cache_dir = options.cache_dir;
  const Result<RunResult> ran = run_bundle(*bundle, generate_inputs(bundle->graph, 1), run);
  if (!ran) return render(ran.diags());
  return (ran->slices.empty() ? "in turn\n" : "side by side\n") + render(ran->notes);
}

TEST(CudaSchedule, what_does_not_fit_runs_in_turn_with_the_reason) {
  const test::ScratchDirectory scratch;
  const std::string cache = scratch.at("cache");
  EXPECT_EQ(said({}, [&] { return notes_of(kUnits, 2, cache); }), "side by side\n");
  EXPECT_THAT(said({}, [&] { return notes_of(kUnits, 100, cache); }),
              ::testing::AllOf(HasSubstr("in turn\n"),
                               HasSubstr("of the schedule's groups fit a unit of cuda:0, the plan "
                                         "has `resident: 100`: kernel '"),
                               HasSubstr(": steps run one after the other\nhint: `resident: ")));
  EXPECT_THAT(said({}, [&] { return notes_of(kUnits + 1, 1, cache); }),
              HasSubstr("the schedule is for 5 units and cuda:0 has 4: steps run one after the "
                        "other"));
  EXPECT_THAT(said({{"NOT_TOGETHER", "1"}}, [&] { return notes_of(kUnits, 1, cache); }),
              HasSubstr("cuda:0 does not run steps side by side: steps run one after the other"));
}

// The driver breaks its promise: one group of the launch never begins.
TEST(CudaSchedule, a_wait_that_never_ends_is_an_error) {
  const test::ScratchDirectory scratch;
  const std::string cache = scratch.at("cache");
  EXPECT_EQ(said({{"FAIL_GROUP", "3"}, {"FAST_CLOCK", "1000"}},
                 [&] { return notes_of(kUnits, 2, cache); }),
            "error: a unit of cuda:0 waited 60 s for another one\n");
}

}  // namespace
}  // namespace assay::toolkit
