// Predictions for GPUs against simulations of the same profile, on small operators bound by
// latency.
#include <gtest/gtest.h>

#include <string>

#include "tests/toolkit/scratch_directory.h"
#include "toolkit/profiles.h"
#include "toolkit/validate.h"

namespace assay::toolkit {
namespace {

// First choices only: programs drawn from all legal ones are not what users run.
TEST(Simulated, PredictionsForAGpuHoldOnItsSimulation) {
  const char* name = "nvidia/v100-pcie-16gb";
  const test::ScratchDirectory scratch;
  ValidateOptions options;
  options.programs = 1;
  options.repeat = 1;
  options.device = std::string("virtual:") + name;
  options.journal = scratch.at("t.journal");
  options.cache_dir = scratch.at("cache");
  const Suite suite = {"small", {"bias_add rows=64 columns=200", "column_sum rows=128 columns=96"}};
  const Result<Validation> v = validate(*load_profile(name), suite, options);
  ASSERT_TRUE(v.ok()) << render(v.diags());
  ASSERT_EQ(static_cast<int>(v->operators.size()),
            v->total);  // sums of few results are two tile-graphs
  ASSERT_GE(v->operators.size(), suite.operators.size());
  for (const OperatorRows& o : v->operators)
    for (const ProgramRow& r : o.rows) {
      EXPECT_FALSE(r.wrong) << o.name << ": " << r.parameters;
      if (r.first) {
        EXPECT_NEAR(r.measured / r.estimate.seconds, 1, 0.25) << o.name << ": " << r.parameters;
      }
    }
}

}  // namespace
}  // namespace assay::toolkit
