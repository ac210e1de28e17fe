// Model + profile -> bundle -> disk -> run, and refused bundles.
#include "toolkit/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "support/files/files.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/summary.h"
#include "toolkit/verify_programs.h"

namespace assay::toolkit {
namespace {

using test::ScratchDirectory;
using testing::HasSubstr;

constexpr const char* kProfile = "generic/x86-avx512-2core";

template <class T>
T value_of(Result<T> r) {
  if (!r) throw std::runtime_error(render(r.diags()));
  return std::move(*r);
}

Bundle compiled(const std::string& op, const ScratchDirectory& scratch) {
  CompileOptions options;
  options.build = false;
  options.cache_dir = scratch.at("cache");
  return value_of(
      compile_bundle(value_of(operator_model(op)), value_of(load_profile(kProfile)), options));
}

RunOptions run_options(const ScratchDirectory& scratch) {
  RunOptions options;
  options.repeat = 3;
  options.guarded = true;
  options.cache_dir = scratch.at("cache");
  return options;
}

TEST(Bundle, ReadsBackAsWritten) {
  const ScratchDirectory scratch;
  const Bundle bundle = compiled("matmul m=37 n=29 k=23", scratch);
  ASSERT_EQ(render(write_bundle(bundle, scratch.at("bundle"))), "");
  const Bundle back = value_of(read_bundle(scratch.at("bundle")));
  EXPECT_EQ(back.graph, bundle.graph);
  EXPECT_EQ(back.profile, bundle.profile);
  EXPECT_EQ(back.plan, bundle.plan);
  EXPECT_EQ(back.weights, bundle.weights);
  EXPECT_EQ(back.kernels, bundle.kernels);
  EXPECT_EQ(back.api, bundle.api);
  EXPECT_EQ(to_json(back.total), to_json(bundle.total));
  ASSERT_EQ(back.estimates.size(), bundle.estimates.size());
  for (size_t i = 0; i < back.estimates.size(); ++i)
    EXPECT_EQ(to_json(back.estimates[i]), to_json(bundle.estimates[i]));
}

// A type replaces the weights; the former ones are not written, so that the others keep their
// place.
TEST(Bundle, ReplacedConstantsAreNotKept) {
  const ScratchDirectory scratch;
  for (const char* op :
       {"conv c=3 h=5 w=5 o=4 r=3 s=3 type=f16", "conv c=3 h=5 w=5 o=4 r=3 s=3 type=i8"}) {
    const Bundle bundle = compiled(op, scratch);
    const Diags diags = write_bundle(bundle, scratch.at("typed"));
    ASSERT_TRUE(diags.empty()) << render(diags);
    const Bundle read = value_of(read_bundle(scratch.at("typed")));
    const auto weights = [](const Bundle& b) {
      for (const ir::Tensor& t : b.graph.tensors)
        if (t.constant >= 0) return b.graph.constants[static_cast<size_t>(t.constant)].bytes;
      return std::vector<std::byte>();
    };
    EXPECT_FALSE(weights(bundle).empty());
    EXPECT_EQ(weights(read), weights(bundle));
  }
}

TEST(Bundle, SameInputSameBytes) {
  const ScratchDirectory scratch;
  for (const char* name : {"one", "two"})
    ASSERT_EQ(
        render(write_bundle(compiled("conv c=8 h=9 w=9 o=16 r=3 s=3", scratch), scratch.at(name))),
        "");
  for (const char* part :
       {"plan.yaml", "profile.yaml", "graph.yaml", "estimate.json", "weights.bin", "constants.bin"})
    EXPECT_EQ(value_of(read_text(scratch.at(std::string("one/") + part))),
              value_of(read_text(scratch.at(std::string("two/") + part))))
        << part;
}

TEST(Bundle, AChangedPartIsRefused) {
  const ScratchDirectory scratch;
  const std::string dir = scratch.at("bundle");
  const Bundle bundle = compiled("matmul m=8 n=16 k=4", scratch);
  ASSERT_EQ(render(write_bundle(bundle, dir)), "");
  for (const std::string& part : {std::string("plan.yaml"), std::string("profile.yaml"),
                                  "kernels/" + bundle.kernels.at(0).name}) {
    const std::string text = value_of(read_text(dir + "/" + part));
    ASSERT_EQ(write_text(dir + "/" + part, text + "\n"), Diags{});
    const auto read = read_bundle(dir);
    ASSERT_FALSE(read.ok()) << part;
    EXPECT_EQ(render(read.diags()), dir + "/" + part +
                                        ": error: is not the file that was written with this "
                                        "bundle\nhint: compile the model again\n");
    ASSERT_EQ(write_text(dir + "/" + part, text), Diags{});
  }
  EXPECT_TRUE(read_bundle(dir).ok());
}

TEST(Bundle, ReportsThatThereIsNone) {
  const ScratchDirectory scratch;
  EXPECT_THAT(render(read_bundle(scratch.at("none")).diags()),
              HasSubstr("there is no such directory"));
  EXPECT_THAT(render(read_bundle(scratch.path()).diags()),
              HasSubstr("is not a bundle: it has no estimate.json"));
}

class Operators : public testing::TestWithParam<const char*> {};

TEST_P(Operators, RunAndAreRight) {
  const ScratchDirectory scratch;
  const Bundle bundle = compiled(GetParam(), scratch);
  const Values inputs = generate_inputs(bundle.graph, 0);
  const RunResult run = value_of(run_bundle(bundle, inputs, run_options(scratch)));
  const Verdict verdict = value_of(check_outputs(bundle.graph, inputs, run.outputs));
  EXPECT_TRUE(verdict.verified) << verdict.wrong << " wrong of " << verdict.values << ", error "
                                << verdict.max_relative_error;
  for (const ProgramVerdict& p : value_of(verify_programs(bundle, run_options(scratch))))
    EXPECT_TRUE(p.verdict.verified)
        << p.program << ": " << p.verdict.wrong << " wrong, error " << p.verdict.max_relative_error;
  const Json summary = to_json(summarize(bundle, run, verdict));
  EXPECT_EQ(summary["operators"].size(), bundle.plan.steps.size());
  EXPECT_TRUE(summary["verified"].get<bool>());
  EXPECT_GT(summary["measured_s"].get<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Host, Operators,
                         testing::Values("matmul m=37 n=29 k=23", "matmul m=1 n=1 k=1",
                                         "matmul m=5 n=130 k=64", "relu n=1001",
                                         "reduce_sum rows=5 columns=77", "depthwise c=16 h=8 w=9",
                                         "conv c=8 h=9 w=9 o=16 r=3 s=3",
                                         "matmul m=37 n=29 k=23 type=i8",
                                         "conv c=8 h=9 w=9 o=16 r=3 s=3 type=i8"));

TEST(Bundle, AForeignProfileIsPredictedAndNotRun) {
  const ScratchDirectory scratch;
  CompileOptions options;
  const Bundle bundle = value_of(compile_bundle(value_of(operator_model("matmul m=64 n=64 k=64")),
                                                value_of(load_profile("graphcore/gc2")), options));
  EXPECT_THAT(bundle.no_kernels, HasSubstr("no dialect file"));
  EXPECT_GT(bundle.total.seconds, 0);
  const auto run = run_bundle(bundle, generate_inputs(bundle.graph, 0), run_options(scratch));
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(render(run.diags()), HasSubstr("has no kernels"));
}

// Processes that keep a core busy each.
class Neighbours {
 public:
  explicit Neighbours(unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
      const pid_t child = fork();
      if (child == 0) spin();
      children_.push_back(child);
    }
  }
  ~Neighbours() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

 private:
  [[noreturn]] static void spin() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves none behind
    for (std::atomic<int> n = 0;;) n.fetch_add(1, std::memory_order_relaxed);
  }

  std::vector<pid_t> children_;
};

TEST(RunBundle, ReportsThatOthersKeptItWaiting) {
  const ScratchDirectory scratch;
  const Bundle bundle = compiled("matmul m=512 n=512 k=512", scratch);
  const Values inputs = generate_inputs(bundle.graph, 1);
  RunOptions options = run_options(scratch);
  options.guarded = false;
  options.repeat = 40;
  options.patience = 0;
  const Neighbours taking(2 * std::thread::hardware_concurrency());
  const RunResult run = value_of(run_bundle(bundle, inputs, options));
  EXPECT_GT(run.kept_waiting, 0.1);
  EXPECT_THAT(render(run.notes), HasSubstr("other programs kept this one waiting"));
  EXPECT_DOUBLE_EQ(
      to_json(summarize(bundle, run, std::nullopt, nullptr)).at("kept_waiting").get<double>(),
      run.kept_waiting);
}

// A profile of a ten times faster machine, and one that was not measured.
TEST(RunBundle, RepeatsAndReportsWhileTheMachineIsNotAsProbed) {
  const ScratchDirectory scratch;
  Bundle bundle = compiled("matmul m=37 n=29 k=23", scratch);
  const Values inputs = generate_inputs(bundle.graph, 1);
  RunOptions options = run_options(scratch);
  EXPECT_FALSE(value_of(run_bundle(bundle, inputs, options)).as_probed) << "it was not measured";
  for (hwdesc::Pipe& p : bundle.profile.pipes) {
    p.rate.source = hwdesc::Origin::measured;
    p.rate.value->v *= 10;
  }
  options.patience = 0;
  const RunResult once = value_of(run_bundle(bundle, inputs, options));
  EXPECT_EQ(once.batches, 1);
  ASSERT_TRUE(once.as_probed);
  EXPECT_GT(once.as_probed->multiply_adds, 0);
  EXPECT_LT(once.as_probed->multiply_adds, 0.5);
  EXPECT_THAT(render(once.notes), HasSubstr("times the rate that the profile says"));
  options.patience = 1;
  const RunResult again = value_of(run_bundle(bundle, inputs, options));
  EXPECT_GT(again.batches, 1);
  EXPECT_EQ(to_json(summarize(bundle, again, std::nullopt, nullptr)).at("batches"), again.batches);
}

// Also predicts for the placement of units during the run: here cross-die, with a last cache each
// that is slow for one unit alone.
TEST(Summary, PredictsForThePlacementOfTheRun) {
  const ScratchDirectory scratch;
  Bundle bundle = compiled("softmax rows=1536 columns=1024", scratch);
  for (hwdesc::MemoryLevel& l : bundle.profile.memory)
    if (l.name == "l3")
      l.bandwidth.per_unit.value = hwdesc::Bandwidth{l.bandwidth.read.value->v / 20, ""};
  RunOptions options = run_options(scratch);
  RunResult run = value_of(run_bundle(bundle, generate_inputs(bundle.graph, 1), options));
  run.as_probed = probe::AsProbed{0.5, 1, 1, 1.1};
  EXPECT_FALSE(summarize(bundle, run, std::nullopt).as_it_ran) << "placed as probed, though slower";
  run.as_probed->cross_die_ratio = 4;
  const Summary s = summarize(bundle, run, std::nullopt);
  ASSERT_TRUE(s.as_it_ran);
  EXPECT_GT(s.as_it_ran->seconds, 1.02 * s.predicted_s);
  double sum = 0;
  for (const OperatorSummary& o : s.operators) sum += o.as_it_ran->seconds;
  EXPECT_NEAR(sum / s.as_it_ran->seconds, 1, 1e-9);
  const Json json = to_json(s);
  EXPECT_DOUBLE_EQ(json.at("as_it_ran").at("predicted_s").get<double>(), s.as_it_ran->seconds);
  EXPECT_TRUE(json.at("operators").at(0).contains("as_it_ran"));
  EXPECT_EQ(json.at("as_probed").at("elsewhere"), 4);
  EXPECT_NE(mean_error(s, true), mean_error(s, false));
}

}  // namespace
}  // namespace assay::toolkit
