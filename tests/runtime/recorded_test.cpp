// Recorded launches, submitted as one, have the same effect as single launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hwdesc/target.h"
#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;

constexpr int64_t kElements = 1009;
constexpr int kTimes = 3;

// y = 2 x + 1, from one buffer to the next.
Kernel step() {
  return elementwise("step", kElements, [](const Value& v) {
    return op(ValueOp::fma, {v, constant_of(2, v.lanes), constant_of(1, v.lanes)});
  });
}

// From a to b and back, each launch on the previous one's result: x becomes 4 x + 3.
std::vector<Launch> round_trip(int a, int b) {
  return {{0, {{a, 0}, {b, 0}}, {}}, {0, {{b, 0}, {a, 0}}, {}}};
}

void expect_recorded(Host& host, const hwdesc::Target& target) {
  host.options().one_by_one = true;
  const auto module = host.device().load(std::vector{step()}, target, host.options());
  ASSERT_TRUE(module.ok()) << render(module.diags());
  const std::vector<float> x = host.random(kElements);
  const int a = (*module)->allocate(kElements * 4).value(),
            b = (*module)->allocate(kElements * 4).value();
  const std::vector<Launch> launches = round_trip(a, b);
  (*module)->write({a, 0}, std::as_bytes(std::span(x)));
  ASSERT_TRUE((*module)->run(launches, {}).ok()) << "one by one before";
  RunOptions recorded;
  recorded.recorded = true;
  recorded.warm_up = 1;
  recorded.repeat = kTimes - 1;
  const auto times = (*module)->run(launches, recorded);
  ASSERT_TRUE(times.ok()) << render(times.diags());
  EXPECT_EQ(times->total.size(), size_t{kTimes - 1});
  EXPECT_THAT(times->total, Each(Gt(0)));
  EXPECT_TRUE(times->steps.empty() && times->busy.empty()) << "nothing is told of each";
  ASSERT_TRUE((*module)->run(launches, {}).ok()) << "and behind";
  std::vector<float> y(kElements);
  (*module)->read({a, 0}, std::as_writable_bytes(std::span(y)));
  for (size_t i = 0; i < y.size(); ++i) {
    float expected = x[i];
    for (int n = 0; n < 2 * (kTimes + 2); ++n) expected = std::fma(expected, 2.0f, 1.0f);
    ASSERT_NEAR(y[i], expected, 1e-4 * std::abs(expected) + 1e-3) << i;
  }
}

bool records(const Device& device) {
  return device.info().id != "cpu:0" && !device.info().simulated;
}

TEST(Recorded, does_the_same) {
  Host host;
  if (!records(host.device())) GTEST_SKIP() << "it can not record launches";
  expect_recorded(host, {});
}

TEST(Recorded, does_the_same_where_lanes_are_threads) {
  Host host;
  if (!records(host.device())) GTEST_SKIP() << "it can not record launches";
  expect_recorded(host, lanes_are_threads());
}

TEST(Recorded, is_refused_where_unsupported) {
  Host host;
  if (host.device().info().id != "cpu:0") GTEST_SKIP() << "it may record";
  const auto module = host.load({step()});
  ASSERT_TRUE(module);
  const int a = module->allocate(kElements * 4).value(),
            b = module->allocate(kElements * 4).value();
  RunOptions recorded;
  recorded.recorded = true;
  const auto times = module->run(round_trip(a, b), recorded);
  ASSERT_FALSE(times.ok());
  EXPECT_THAT(render(times.diags()),
              HasSubstr("have no command buffer in which launches could be recorded"));
}

}  // namespace
}  // namespace assay::runtime
