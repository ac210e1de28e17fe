// The branch of an If that is not taken, on this machine's CPU: left out, and said so.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/compiler/graph_builder.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/run.h"
#include "toolkit/summary.h"

namespace assay::toolkit {
namespace {

// A long branch where the first input is not 0, else a short one.
ir::Graph long_or_short() {
  test::Builder b;
  std::mt19937 rng(3);
  const int condition = b.input({1}), x = b.input({8, 32});
  const auto to = [&](int from, int64_t columns) { return b.product(from, columns, rng); };
  const int yes = to(to(to(x, 512), 512), 32), no = to(to(x, 16), 32);
  const int chosen =
      b.node("where", {8, 32}, {},
             {b.at(condition, {ir::constant(0)}), b.at(yes, b.own(2)), b.at(no, b.own(2))},
             ir::apply(ir::ScalarOp::select, {ir::read(0), ir::read(1), ir::read(2)}));
  b.g.name = "long_or_short";
  b.g.outputs = {to(chosen, 16)};
  return std::move(b.g);
}

TEST(ConditionsOnHost, StepsOfTheOtherBranchAreLeftOutAndAreNoErrors) {
  const test::ScratchDirectory scratch;
  const Result<hwdesc::Profile> profile = load_profile("generic/x86-avx512-2core");
  ASSERT_TRUE(profile.ok());
  const ir::Graph graph = long_or_short();
  for (const compiler::Schedule how : {compiler::Schedule::off, compiler::Schedule::always}) {
    CompileOptions options;
    options.schedule = how;
    options.fuse = compiler::Fuse::elementwise;
    options.build = false;
    options.cache_dir = scratch.at("cache");
    const Result<Bundle> bundle = compile_bundle(graph, *profile, options);
    ASSERT_TRUE(bundle.ok()) << render(bundle.diags());
    for (const float condition : {0.0F, 1.0F}) {
      Values inputs = generate_inputs(bundle->graph, 1);
      inputs[0] = {condition};
      RunOptions run;
      run.patience = 0;
      run.guarded = true;
      run.cache_dir = options.cache_dir;
      const Result<RunResult> ran = run_bundle(*bundle, inputs, run);
      ASSERT_TRUE(ran.ok()) << render(ran.diags());
      const Result<Verdict> v = check_outputs(bundle->graph, inputs, ran->outputs);
      ASSERT_TRUE(v.ok() && v->verified);
      Summary s = summarize(*bundle, *ran, v.value());
      double sum = 0, left_out = 0;
      for (size_t i = 0; i < s.operators.size(); ++i) {
        const auto& needed = bundle->plan.steps[i].needed_if;
        EXPECT_EQ(s.operators[i].left_out, needed && needed->value != (condition != 0))
            << s.operators[i].name;
        if (s.operators[i].left_out)
          ++left_out;
        else
          sum += std::abs(
              prediction_error(s.operators[i].predicted_s, s.operators[i].measured.median));
      }
      EXPECT_GT(left_out, 0);
      EXPECT_DOUBLE_EQ(mean_error(s, false),
                       sum / (static_cast<double>(s.operators.size()) - left_out));
      EXPECT_EQ(to_json(s).dump().find("left_out") != std::string::npos, left_out > 0);
    }
  }
}

}  // namespace
}  // namespace assay::toolkit
