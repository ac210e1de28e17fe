// Steps that compute several tile-graphs: right results, and what is connected where.
#include "compiler/search/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "compiler/compile.h"
#include "ir/producers.h"
#include "tests/compiler/plan_runner.h"
#include "tests/lower/problems.h"
#include "tests/lower/random_chain.h"

namespace assay::compiler {
namespace {

using ::testing::HasSubstr;

// At least so many steps of several programs, of groups with more than one wave, of more than one
// output.
void expect_right(const hwdesc::Target& target, int chains, int least, int several, int stores) {
  int connected = 0, waves = 0, stored = 0;
  for (int seed = 0; seed < chains; ++seed) {
    const ir::Graph g = test::random_chain(static_cast<uint32_t>(seed), 2 + seed % 5);
    ASSERT_TRUE(ir::verify(g).empty()) << seed;
    Options options;
    options.fuse = Fuse::always;
    const Result<Compiled> made = compile(g, target, options);
    ASSERT_TRUE(made.ok()) << seed << render(made.diags());
    ASSERT_TRUE(ir::verify(made->plan).empty()) << seed << render(ir::verify(made->plan));
    std::mt19937 rng(static_cast<uint32_t>(seed));
    for (const ir::Program& p : made->plan.programs) {
      connected += p.producers.empty() ? 0 : 1;
      stored += p.graph.outputs.size() > 1 ? 1 : 0;
      waves += !p.producers.empty() &&
                       std::any_of(p.workers.begin(), p.workers.end(), [](int n) { return n > 1; })
                   ? 1
                   : 0;
      const test::Comparison c = test::compare(p, target, rng);
      EXPECT_EQ(c.fault, "") << seed << ir::print_program(p);
      EXPECT_LT(c.difference, 1e-4) << seed << ir::print_program(p);
    }
  }
  EXPECT_GE(connected, least);
  EXPECT_GE(waves, several);
  EXPECT_GE(stored, stores);
}

TEST(Connect, RandomChainsOfCoresAreRight) { expect_right(test::small_cpu(8, 2), 250, 120, 0, 20); }
TEST(Connect, RandomChainsOfThreadsAreRight) { expect_right(test::small_gpu(8), 250, 120, 12, 20); }

// What a group makes it stores, and reads back.
TEST(Connect, RandomChainsOfThreadsWithoutAScratchpadAreRight) {
  hwdesc::Target target = test::small_gpu(8);
  std::erase_if(target.profile.memory,
                [](const hwdesc::MemoryLevel& l) { return hwdesc::is_scratchpad(l); });
  expect_right(target, 80, 30, 0, 30);
}

// Plans of images, whose groups read rows that their neighbours read as well, against the reference
// of the graph.
int windows_of(const hwdesc::Target& target, int graphs) {
  int windows = 0;
  for (int seed = 0; seed < graphs; ++seed) {
    const ir::Graph g = test::random_images(static_cast<uint32_t>(seed), 2 + seed % 4);
    EXPECT_EQ(render(ir::verify(g)), "") << seed;
    Options options;
    options.fuse = Fuse::always;
    std::mt19937 rng(static_cast<uint32_t>(seed));
    std::vector<test::Floats> inputs;
    for (const int t : g.inputs)
      inputs.push_back(test::random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
    const auto want = ir::evaluate(g, inputs);
    EXPECT_TRUE(want.ok()) << seed;
    const ir::Plan plan = test::check_on(target, g, inputs, *want, options);
    EXPECT_FALSE(testing::Test::HasFailure()) << seed;
    if (testing::Test::HasFailure()) return windows;
    for (const ir::Program& p : plan.programs) {
      const Result<ir::Program> back = ir::parse_program(ir::print_program(p), "p.yaml");
      EXPECT_TRUE(back.ok()) << render(back.diags());
      if (!back) continue;
      EXPECT_EQ(ir::print_program(*back), ir::print_program(p));
      for (const ir::Producer& r : p.producers)
        for (const ir::Axis& a : r.program.graph.nodes[0].axes)
          windows += a.name == "y_group" ? 1 : 0;
    }
  }
  return windows;
}

TEST(Connect, ImagesOfCoresAreRight) { EXPECT_GE(windows_of(test::small_cpu(8, 2), 200), 30); }
TEST(Connect, ImagesOfThreadsAreRight) { EXPECT_GE(windows_of(test::small_gpu(8), 100), 15); }

// Rows of 4096 numbers, read three times: they stay in the unit's memory.
TEST(Connect, ANormalisationIsOneStepWhereItsRowsComeFromFar) {
  const Result<ir::Graph> g = parse_operator("layer_norm rows=4096 columns=1024");
  ASSERT_TRUE(g.ok());
  Options options;
  hwdesc::Target target = test::small_cpu(8, 2);
  for (hwdesc::MemoryLevel& l : target.profile.memory)
    if (l.capacity.known()) l.capacity.value->v *= 32;
  options.fuse = Fuse::elementwise;
  const Result<Compiled> apart = compile(*g, target, options);
  options.fuse = Fuse::all;
  const Result<Compiled> together = compile(*g, target, options);
  ASSERT_TRUE(apart.ok() && together.ok());
  EXPECT_GT(apart->plan.steps.size(), 2U);
  EXPECT_EQ(together->plan.steps.size(), 1U);
  EXPECT_LT(together->total.seconds, apart->total.seconds);
  EXPECT_FALSE(together->considered.empty());
  EXPECT_TRUE(apart->considered.empty());
}

// Programs of a group have one launch: a long one is no reason against a group. The five programs
// of this one do little beside it.
TEST(Connect, ALongLaunchSpeaksForAGroupOfThreads) {
  const Result<ir::Graph> g = parse_operator("softmax rows=16 columns=64");
  ASSERT_TRUE(g.ok());
  for (const double launch : {2e-6, 10e-6, 50e-6}) {
    hwdesc::Target target = test::small_gpu(8);
    target.api.launch.stream.value = hwdesc::Seconds{launch};
    Options options;
    options.fuse = Fuse::elementwise;
    const Result<Compiled> apart = compile(*g, target, options);
    const Result<Compiled> made = compile(*g, target, {});
    ASSERT_TRUE(apart.ok() && made.ok());
    EXPECT_GT(apart->plan.steps.size(), 2U);
    EXPECT_EQ(made->plan.steps.size(), 1U) << launch;
    EXPECT_LT(made->total.seconds, apart->total.seconds - launch);
  }
}

TEST(Connect, WithoutFusionEachNodeIsAStep) {
  const Result<ir::Graph> g = parse_operator("gelu n=1000");
  ASSERT_TRUE(g.ok());
  Options options;
  options.fuse = Fuse::none;
  const Result<Compiled> none = compile(*g, test::small_cpu(8, 2), options);
  options.fuse = Fuse::elementwise;
  const Result<Compiled> one = compile(*g, test::small_cpu(8, 2), options);
  ASSERT_TRUE(none.ok() && one.ok());
  EXPECT_EQ(one->plan.steps.size(), 1U);
  EXPECT_EQ(none->plan.steps.size(), g->nodes.size());
  EXPECT_GT(g->nodes.size(), 2U);
}

}  // namespace
}  // namespace assay::compiler
