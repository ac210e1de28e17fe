// Launches of a phase, which run in any order or at once, have the same effect as launches one
// after the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Lists = std::vector<std::vector<int>>;

// Row g of y from row g of x, reversed; through group memory.
ir::Kernel reverse_rows(int64_t groups) {
  ir::Kernel k;
  k.name = "reverse_rows";
  k.buffers = {input("x", 16 * groups), output("y", 16 * groups), scratch("row", 16)};
  k.index_names = {"group"};
  k.groups = groups;
  k.body = {store(2, {}, load(0, variable(0, 16), 16)), Stmt{ir::Barrier{}},
            store(1, variable(0, 16), gather(2, constant(15), -1, 16))};
  return k;
}

// 1, 203 and 1009 elements; groups of one to four waves that stage rows in group memory and wait
// for each other. Those that need most of it do not come last.
std::vector<ir::Kernel> kernels_of_all_kinds() {
  std::vector<ir::Kernel> out{reverse_rows(7)};
  for (const int64_t n : {1, 203, 1009})
    out.push_back(elementwise("scale_" + std::to_string(n), n, [n](const Value& v) {
      return op(ValueOp::fma,
                {v, constant_of(0.5, v.lanes), constant_of(1.0 / static_cast<double>(n), v.lanes)});
    }));
  for (const auto& [steps, groups, waves] :
       {std::tuple{7, 5, 3}, {2, 1, 4}, {3, 13, 2}, {1, 11, 3}}) {
    out.push_back(rotate(steps, groups, waves));
    out.back().name = "rotate_" + std::to_string(groups);
  }
  return out;
}

constexpr int64_t kRegion = 2048;  // elements; enough for any argument
constexpr int kRegions = 14;       // dealt to buffers

// Launches over regions of some buffers, and the phases in which they may run: each as early as
// what it reads and writes allows, in a drawn order.
struct Drawn {
  std::vector<Launch> launches;
  Lists phases;
};

struct Region {
  int last_write = -1, last_read = -1;  // phases
};

Drawn drawn_launches(std::mt19937& rng, int count, size_t kernels, int buffers) {
  Drawn out;
  std::vector<Region> regions(kRegions);
  const auto place = [&](size_t region) {
    return BufferRange{static_cast<int>(region) % buffers,
                       static_cast<int64_t>(region) / buffers * kRegion * 4};
  };
  for (int l = 0; l < count; ++l) {
    const size_t from = rng() % kRegions, to = (from + 1 + rng() % (kRegions - 1)) % kRegions;
    const int phase =
        std::max({regions[from].last_write, regions[to].last_write, regions[to].last_read}) + 1;
    regions[from].last_read = std::max(regions[from].last_read, phase);
    regions[to].last_write = phase;
    out.launches.push_back({static_cast<int>(rng() % kernels), {place(from), place(to)}, {}});
    out.phases.resize(std::max(out.phases.size(), static_cast<size_t>(phase) + 1));
    out.phases[static_cast<size_t>(phase)].push_back(l);
  }
  for (std::vector<int>& p : out.phases) std::shuffle(p.begin(), p.end(), rng);
  return out;
}

class Phases : public ::testing::Test {
 protected:
  void SetUp() override {
    const bool by_threads = tested_device().starts_with("opencl");  // kernels of a thread per lane
    if (!by_threads && !host.device().info().phased) GTEST_SKIP() << "it does not run phases";
  }
  std::unique_ptr<Module> load(const std::vector<ir::Kernel>& kernels) {
    return host.load(kernels, lanes_are_threads());
  }
  bool merges() const {
    return !tested_device().starts_with("vulkan") && !tested_device().starts_with("virtual");
  }
  // What the buffers hold behind a run, from what they held before it.
  static std::vector<std::vector<float>> after(Module& module, const std::vector<int>& buffers,
                                               const std::vector<std::vector<float>>& before,
                                               const std::vector<Launch>& launches,
                                               const RunOptions& options) {
    std::vector<std::vector<float>> out = before;
    for (size_t b = 0; b < out.size(); ++b)
      module.write({buffers[b], 0}, std::as_bytes(std::span(out[b])));
    const auto times = module.run(launches, options);
    EXPECT_TRUE(times.ok()) << render(times.diags());
    for (size_t b = 0; b < out.size(); ++b)
      module.read({buffers[b], 0}, std::as_writable_bytes(std::span(out[b])));
    return out;
  }
  // Buffers 0 to `count` - 1, which hold all regions.
  static std::vector<int> allocate(Module& module, int count) {
    std::vector<int> out;
    for (int b = 0; b < count; ++b)
      out.push_back(module.allocate((kRegions + count - 1) / count * kRegion * 4).value());
    return out;
  }
  std::vector<std::vector<float>> contents(int count) {
    std::vector<std::vector<float>> out;
    for (int b = 0; b < count; ++b)
      out.push_back(host.random((kRegions + count - 1) / count * kRegion));
    return out;
  }
  Host host;
};

TEST_F(Phases, drawn_launches_are_as_one_after_the_other) {
  const std::vector<ir::Kernel> kernels = kernels_of_all_kinds();
  std::mt19937 rng(41);
  size_t together = 0, alone = 0;
  for (const int buffers : {2, 10}) {
    const auto module = load(kernels);
    ASSERT_NE(module, nullptr);
    const std::vector<int> all = allocate(*module, buffers);
    const Drawn drawn = drawn_launches(rng, 23, kernels.size(), buffers);
    const auto before = contents(buffers);
    RunOptions in_phases;
    in_phases.phases = drawn.phases;
    const auto one_by_one = after(*module, all, before, drawn.launches, {});
    ASSERT_EQ(after(*module, all, before, drawn.launches, in_phases), one_by_one)
        << buffers << " buffers";
    for (const auto& p : drawn.phases) (p.size() > 1 ? together : alone) += 1;
  }
  EXPECT_GT(together, 5u);
  EXPECT_GT(alone, 2u);
}

// One kernel, of whose launches the rows differ alone.
TEST_F(Phases, launches_of_one_kernel_share_a_phase) {
  for (const int64_t n : {1, 61, 64, 129}) {
    const auto module = load({elementwise("next", n, [](const Value& v) {
      return op(ValueOp::add, {v, constant_of(1, v.lanes)});
    })});
    ASSERT_NE(module, nullptr);
    const int a = module->allocate(17 * n * 4).value(), b = module->allocate(17 * n * 4).value();
    std::vector<float> x(static_cast<size_t>(17 * n));
    std::iota(x.begin(), x.end(), 0.0f);
    module->write({a, 0}, std::as_bytes(std::span(x)));
    std::vector<Launch> launches;
    for (int64_t l = 0; l < 17; ++l) launches.push_back({0, {{a, l * n * 4}, {b, l * n * 4}}, {}});
    Lists phases(1, std::vector<int>(17));
    std::iota(phases[0].begin(), phases[0].end(), 0);
    RunOptions options;
    options.phases = phases;
    ASSERT_TRUE(module->run(launches, options).ok());
    std::vector<float> y(x.size());
    module->read({b, 0}, std::as_writable_bytes(std::span(y)));
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], x[i] + 1) << n << " elements, " << i;
  }
}

// More than a merged kernel has as arguments on OpenCL.
TEST_F(Phases, launches_of_many_buffers_share_a_phase) {
  const auto module = load({copy(80)});
  ASSERT_NE(module, nullptr);
  std::vector<Launch> launches;
  std::vector<std::vector<float>> values;
  Lists phases(1);
  for (int l = 0; l < 9; ++l) {
    launches.push_back(
        {0, {{module->allocate(320).value(), 0}, {module->allocate(320).value(), 0}}, {}});
    values.push_back(host.random(80));
    module->write(launches.back().arguments[0], std::as_bytes(std::span(values.back())));
    phases[0].push_back(l);
  }
  RunOptions options;
  options.phases = phases;
  ASSERT_TRUE(module->run(launches, options).ok());
  for (size_t l = 0; l < launches.size(); ++l) {
    std::vector<float> y(80);
    module->read(launches[l].arguments[1], std::as_writable_bytes(std::span(y)));
    EXPECT_EQ(y, values[l]) << "launch " << l;
  }
}

TEST_F(Phases, run_the_groups_that_queues_name) {
  const auto module = load({elementwise("double", 64 * 6, [](const Value& v) {
    return op(ValueOp::add, {v, v});
  })});
  ASSERT_NE(module, nullptr);
  const std::vector<float> x = host.random(64 * 6), poison = Host::poison(64 * 6);
  std::vector<Launch> launches;
  for (const std::vector<ir::Queue>& queues :
       {std::vector<ir::Queue>{{0, 3, 4}, {1, 0, 2}}, {}, {{0, 2, 2}}, {{0, 5, 6}}}) {
    launches.push_back(
        {0,
         {{module->allocate(64 * 24).value(), 0}, {module->allocate(64 * 24).value(), 0}},
         queues});
    module->write(launches.back().arguments[0], std::as_bytes(std::span(x)));
    module->write(launches.back().arguments[1], std::as_bytes(std::span(poison)));
  }
  const Lists phases{{3, 0, 2, 1}};
  RunOptions options;
  options.phases = phases;
  const auto times = module->run(launches, options);
  ASSERT_TRUE(times.ok()) << render(times.diags());
  const std::vector<std::vector<size_t>> ran{{0, 1, 3}, {0, 1, 2, 3, 4, 5}, {}, {5}};
  for (size_t l = 0; l < ran.size(); ++l) {
    std::vector<float> y(x.size());
    module->read(launches[l].arguments[1], std::as_writable_bytes(std::span(y)));
    for (size_t i = 0; i < y.size(); ++i)
      if (std::ranges::find(ran[l], i / 64) != ran[l].end())
        ASSERT_EQ(y[i], 2 * x[i]) << "launch " << l << ", element " << i;
      else
        ASSERT_TRUE(std::isnan(y[i])) << "launch " << l << ", element " << i;
  }
}

// What is filled before a launch, or is no address, stays a launch of its own where it has to.
TEST_F(Phases, constants_and_images_stand_beside_plain_buffers) {
  if (host.device().info().fact("constant_memory").empty()) GTEST_SKIP() << "no constants";
  Kernel fixed = copy(48), plain = copy(48), texels = copy(48);
  fixed.name = "fixed";
  fixed.buffers[0].space = Space::constant;
  texels.name = "texels";
  texels.buffers[0].space = Space::image;
  texels.buffers[0].row = 8;
  const auto module = load({fixed, plain, texels});
  ASSERT_NE(module, nullptr);
  std::vector<Launch> launches;
  std::vector<std::vector<float>> values;
  for (int l = 0; l < 9; ++l) {
    values.push_back(host.random(48));
    const int from = l % 3 == 2 ? module->allocate_image({DType::f32, 1, 8, 6}).value()
                                : module->allocate(48 * 4).value();
    launches.push_back({l % 3, {{from, 0}, {module->allocate(48 * 4).value(), 0}}, {}});
    module->write({from, 0}, std::as_bytes(std::span(values.back())));
  }
  const Lists phases{{0, 1, 2, 3, 4, 5}, {8, 7, 6}};
  RunOptions options;
  options.phases = phases;
  for (const bool recorded : {false, true}) {
    options.recorded = recorded;
    const auto times = module->run(launches, options);
    ASSERT_TRUE(times.ok()) << render(times.diags());
    for (size_t l = 0; l < launches.size(); ++l) {
      std::vector<float> y(48);
      module->read(launches[l].arguments[1], std::as_writable_bytes(std::span(y)));
      const std::vector<float> zeros(48, 0);
      module->write(launches[l].arguments[1], std::as_bytes(std::span(zeros)));
      EXPECT_EQ(y, values[l]) << "launch " << l;
    }
  }
}

TEST_F(Phases, recorded_ones_have_the_same_effect) {
  const std::vector<ir::Kernel> kernels = kernels_of_all_kinds();
  const auto module = load(kernels);
  ASSERT_NE(module, nullptr);
  std::mt19937 rng(43);
  const std::vector<int> all = allocate(*module, 2);
  const Drawn drawn = drawn_launches(rng, 19, kernels.size(), 2);
  const auto before = contents(2);
  RunOptions one_by_one, recorded;
  one_by_one.repeat = 3;
  recorded.recorded = true;
  recorded.phases = drawn.phases;
  recorded.repeat = 2;
  recorded.warm_up = 1;
  const auto expected = after(*module, all, before, drawn.launches, one_by_one);
  EXPECT_EQ(after(*module, all, before, drawn.launches, recorded), expected);
}

TEST_F(Phases, have_times_of_each_phase) {
  const auto module = load({copy(640), rotate(3, 5)});
  ASSERT_NE(module, nullptr);
  std::vector<Launch> launches;
  for (const int k : {0, 1, 0, 1, 0})
    launches.push_back(
        {k, {{module->allocate(4096).value(), 0}, {module->allocate(4096).value(), 0}}, {}});
  const Lists phases{{0, 1, 2}, {4}, {3}};
  RunOptions options;
  options.phases = phases;
  options.repeat = 3;
  options.warm_up = 1;
  const auto times = module->run(launches, options);
  ASSERT_TRUE(times.ok()) << render(times.diags());
  ASSERT_EQ(times->total.size(), 3u);
  ASSERT_EQ(times->steps.size(), 3u);
  ASSERT_EQ(times->busy.size(), 3u);
  for (size_t r = 0; r < 3; ++r) {
    ASSERT_EQ(times->steps[r].size(), phases.size());
    ASSERT_EQ(times->busy[r].size(), phases.size());
    double sum = 0;
    for (size_t p = 0; p < phases.size(); ++p) {
      EXPECT_GE(times->steps[r][p], times->busy[r][p]);
      EXPECT_GT(times->busy[r][p], 0);
      sum += times->steps[r][p];
    }
    EXPECT_NEAR(times->total[r], sum, 1e-9);
  }
}

// Once for each set of kernels, in whichever order; and never again from the cache.
TEST_F(Phases, merged_kernels_are_built_once) {
  if (!merges()) GTEST_SKIP() << "launches stay apart there";
  const std::vector<ir::Kernel> kernels{copy(80), elementwise("twice", 80, [](const Value& v) {
                                          return op(ValueOp::add, {v, v});
                                        })};
  const auto seconds = [&](Module& module, const std::vector<int>& of, const Lists& phases,
                           bool beforehand) {
    std::vector<Launch> launches;
    for (const int k : of)
      launches.push_back(
          {k, {{module.allocate(320).value(), 0}, {module.allocate(320).value(), 0}}, {}});
    RunOptions options;
    options.phases = phases;
    const double before = module.build_seconds();
    if (beforehand) {
      const auto refusal = module.prepare(launches, options);
      EXPECT_TRUE(refusal.ok()) << render(refusal.diags());
      EXPECT_EQ(refusal.ok() ? refusal->reason : "", "");
    } else {
      const auto times = module.run(launches, options);
      EXPECT_TRUE(times.ok()) << render(times.diags());
    }
    return module.build_seconds() - before;
  };
  const auto module = load(kernels), again = load(kernels);
  EXPECT_EQ(seconds(*module, {0, 1}, {{0}, {1}}, false), 0) << "phases of one";
  EXPECT_GT(seconds(*module, {0, 1}, {{0, 1}}, true), 0);
  EXPECT_EQ(seconds(*module, {0, 1}, {{0, 1}}, false), 0);
  EXPECT_EQ(seconds(*module, {1, 0, 1}, {{0, 2, 1}}, false), 0);
  EXPECT_GT(seconds(*module, {0, 0}, {{0, 1}}, false), 0);
  EXPECT_EQ(seconds(*again, {1, 0}, {{0, 1}}, false), 0) << "in the cache";
}

TEST_F(Phases, that_are_no_partition_are_refused) {
  const auto module = load({copy(64)});
  ASSERT_NE(module, nullptr);
  const BufferRange a{module->allocate(256).value(), 0}, b{module->allocate(256).value(), 0};
  const std::vector<Launch> launches{{0, {a, b}, {}}, {0, {a, b}, {}}};
  const auto said = [&](const Lists& phases, const std::vector<ir::Command>& schedule = {}) {
    RunOptions options;
    options.phases = phases;
    options.schedule = schedule;
    const auto times = module->run(launches, options);
    return times.ok() ? "ran" : render(times.diags());
  };
  EXPECT_EQ(said({{1}, {0}}), "ran");
  EXPECT_THAT(said({{0}}), HasSubstr("launch 1 is in none of 1 phases"));
  EXPECT_THAT(said({{0, 1}, {1}}), HasSubstr("phase 1: launch 1 is in phase 0 already"));
  EXPECT_THAT(said({{0, 1, 2}, {-1}}), AllOf(HasSubstr("phase 0: there is no launch 2"),
                                             HasSubstr("phase 1: there is no launch -1")));
  EXPECT_THAT(said({{0, 1}}, {ir::Command{}}),
              HasSubstr("by a schedule or in phases, not by both"));
}

TEST(PhasesElsewhere, are_refused) {
  Host host;
  if (host.device().info().threads) GTEST_SKIP() << "its driver deals groups to units";
  EXPECT_FALSE(host.device().info().phased);
  for (const bool one_by_one : {false, true}) {
    host.options().one_by_one = one_by_one;
    const auto module = host.load({copy(64)});
    ASSERT_NE(module, nullptr);
    const std::vector<Launch> launches{
        {0, {{module->allocate(256).value(), 0}, {module->allocate(256).value(), 0}}, {}}};
    const Lists phases{{0}};
    RunOptions options;
    options.phases = phases;
    const auto times = module->run(launches, options);
    ASSERT_FALSE(times.ok());
    EXPECT_THAT(render(times.diags()),
                HasSubstr("does not run phases: its units have queues of their own"));
  }
}

}  // namespace
}  // namespace assay::runtime
