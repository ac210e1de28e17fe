// Bytes to device memory, estimated and counted by a simulated chip with small caches, of chains in
// one step and in several.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/toolkit/scratch_directory.h"
#include "toolkit/chains.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/summary.h"

namespace assay::toolkit {
namespace {

constexpr double kNear = 0.15;
constexpr const char* kSmallCaches =
    "schema: assay/profile/1\nname: small-caches\nextends: generic/x86-avx512-2core\n"
    "overrides: [memory.l2.capacity=256 KiB, memory.l3.capacity=1 MiB]\n";

// All tensors are larger than the last cache, and none is as large as a cache: there LRU, which is
// simulated, and the hit curves of real caches differ.
struct Case {
  const char* chain;
  double most;  // bytes of the fused plan over those of the other
};

class Traffic : public testing::TestWithParam<Case> {
 protected:
  TrafficSummary to_memory(compiler::Fuse fuse) const {
    CompileOptions compile;
    compile.fuse = fuse;
    compile.build = false;
    const auto graph = chain_of(GetParam().chain);
    const auto profile = load_profile(path_);
    if (!graph || !profile) throw std::runtime_error("no such chain or profile");
    const auto bundle = compile_bundle(*graph, *profile, compile);
    if (!bundle) throw std::runtime_error(render(bundle.diags()));
    RunOptions run;
    run.device = "virtual:" + path_;
    run.repeat = 2;
    const auto ran = run_bundle(*bundle, generate_inputs(bundle->graph, 1), run);
    if (!ran) throw std::runtime_error(render(ran.diags()));
    const Summary s = summarize(*bundle, *ran, {});
    if (s.traffic.empty()) throw std::runtime_error("nothing was counted");
    return s.traffic.back();
  }
  void SetUp() override { std::ofstream(path_) << kSmallCaches; }

  test::ScratchDirectory dir_;
  std::string path_ = dir_.at("chip.yaml");
};

TEST_P(Traffic, IsEstimatedAsItIsCounted) {
  const TrafficSummary separate = to_memory(compiler::Fuse::elementwise),
                       together = to_memory(compiler::Fuse::always);
  for (const TrafficSummary* t : {&separate, &together}) {
    EXPECT_EQ(t->boundary, "l3<-dram");
    EXPECT_NEAR(t->predicted, t->counted, kNear * t->counted);
  }
  EXPECT_LT(together.counted, GetParam().most * separate.counted);
  EXPECT_LT(together.predicted, GetParam().most * separate.predicted);
}

INSTANTIATE_TEST_SUITE_P(
    Chains, Traffic,
    testing::Values(Case{"layer_norm rows=1021 columns=1024", 0.6},
                    Case{"rms_norm rows=1499 columns=512", 0.7},
                    Case{"matmul m=8192 n=64 k=64 | bias_add rows=8192 columns=64 | "
                         "matmul m=8192 n=64 k=64",
                         0.6}));

}  // namespace
}  // namespace assay::toolkit
