// Launches in order, where each reads the previous one's results: on every kind of device, by one
// kernel for all of them and by one each.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;

constexpr int64_t kElements = 1000;

// to[i] = (from[i] + 1) * by, a group for each of kElements / 100 pieces.
ir::Kernel step_by(const std::string& name, double by) {
  return elementwise(name, kElements, [by](ir::Value v) {
    return op(ir::ValueOp::mul,
              {op(ir::ValueOp::add, {v, constant_of(1, v.lanes)}), constant_of(by, v.lanes)});
  });
}

struct Chain {
  std::unique_ptr<Module> module;
  std::vector<Launch> launches;
  BufferRange last;
};

// Two kernels alternate between two buffers, so that a launch that starts too early gives wrong
// results.
Chain chain_of(Host& host, size_t length, const std::vector<ir::Kernel>& kernels) {
  Chain c{host.load(kernels), {}, {}};
  const int a = c.module->allocate(kElements * 4).value(),
            b = c.module->allocate(kElements * 4).value();
  for (size_t l = 0; l < length; ++l) {
    const BufferRange from{l % 2 == 0 ? a : b, 0}, to{l % 2 == 0 ? b : a, 0};
    c.launches.push_back({static_cast<int>(l % kernels.size()), {from, to}, {}});
    c.last = to;
  }
  return c;
}

float expected(size_t length, const std::vector<double>& by) {
  float x = 0;
  for (size_t l = 0; l < length; ++l) x = (x + 1.0f) * static_cast<float>(by[l % by.size()]);
  return x;
}

void check_chain(bool one_by_one) {
  Host host;
  host.options().one_by_one = one_by_one;
  const std::vector<double> by{0.5, 0.25, 1.5};
  std::vector<ir::Kernel> kernels;
  for (const double b : by) kernels.push_back(step_by("step_" + std::to_string(kernels.size()), b));
  for (const size_t length : {size_t{1}, size_t{2}, size_t{7}, size_t{300}}) {
    Chain c = chain_of(host, length, kernels);
    const auto times = c.module->run(c.launches, {});
    ASSERT_TRUE(times.ok()) << render(times.diags());
    ASSERT_EQ(times->steps.size(), 1u);
    ASSERT_EQ(times->steps[0].size(), length);
    std::vector<float> y(kElements);
    c.module->read(c.last, std::as_writable_bytes(std::span(y)));
    for (const float v : y) ASSERT_EQ(v, expected(length, by)) << length;
  }
}

TEST(Sequence, each_launch_reads_the_previous_results) { check_chain(false); }
TEST(Sequence, also_with_one_kernel_per_launch) { check_chain(true); }

// Each repeat starts from the previous one's results.
TEST(Sequence, repeats_follow_each_other) {
  Host host;
  Chain c = chain_of(host, 2, {step_by("step", 0.5)});
  constexpr int kRepeats = 20, kWarm = 3;
  const auto times = c.module->run(c.launches, {kRepeats, kWarm});
  ASSERT_TRUE(times.ok()) << render(times.diags());
  EXPECT_EQ(times->total.size(), size_t{kRepeats});
  EXPECT_EQ(times->steps.size(), size_t{kRepeats});
  std::vector<float> y(kElements);
  c.module->read(c.last, std::as_writable_bytes(std::span(y)));
  for (const float v : y) ASSERT_EQ(v, expected(2 * (kRepeats + kWarm), {0.5}));
}

TEST(Sequence, steps_add_up_to_the_total) {
  Host host;
  Chain c = chain_of(host, 20, {step_by("a", 0.5), step_by("b", 0.25)});
  const auto times = c.module->run(c.launches, {5, 1});
  ASSERT_TRUE(times.ok()) << render(times.diags());
  for (size_t r = 0; r < times->total.size(); ++r) {
    const double sum = std::accumulate(times->steps[r].begin(), times->steps[r].end(), 0.0);
    EXPECT_NEAR(sum, times->total[r], 1e-9 + 1e-6 * sum);
    for (size_t l = 0; l < 20; ++l) {
      EXPECT_GE(times->busy[r][l], 0.0);
      EXPECT_GE(times->steps[r][l] - times->busy[r][l], -1e-12);
    }
  }
}

// All groups run, although other units have no queue.
TEST(Sequence, queues_of_one_unit_only) {
  Host host;
  Chain c = chain_of(host, 9, {step_by("a", 0.5)});
  const int64_t groups = step_by("a", 0.5).groups;
  for (size_t l = 0; l < c.launches.size(); ++l)
    c.launches[l].queues = {{static_cast<int>(l) % host.device().info().units, 0, groups}};
  const auto times = c.module->run(c.launches, {});
  ASSERT_TRUE(times.ok()) << render(times.diags());
  std::vector<float> y(kElements);
  c.module->read(c.last, std::as_writable_bytes(std::span(y)));
  for (const float v : y) ASSERT_EQ(v, expected(9, {0.5}));
}

// More kernels than one built sequence holds, so that launches alternate between sequences.
TEST(Sequence, more_kernels_than_one_program_holds) {
  Host host;
  std::vector<ir::Kernel> kernels;
  std::vector<double> by;
  for (int i = 0; i < 140; ++i) {
    by.push_back(0.5 + i / 1024.0);
    kernels.push_back(step_by("step_" + std::to_string(i), by.back()));
  }
  Chain c = chain_of(host, 300, kernels);
  const auto times = c.module->run(c.launches, {});
  ASSERT_TRUE(times.ok()) << render(times.diags());
  EXPECT_EQ(times->steps[0].size(), 300u);
  std::vector<float> y(kElements);
  c.module->read(c.last, std::as_writable_bytes(std::span(y)));
  for (const float v : y) ASSERT_FLOAT_EQ(v, expected(300, by));
}

}  // namespace
}  // namespace assay::runtime
