// How the steps of a plan evict each other's code and data.
#include <gtest/gtest.h>

#include "tests/model/programs.h"

namespace assay::test {
namespace {

constexpr double kCold = 1e-6;  // s

model::Machine two_units(bool known) {
  hwdesc::Target t = small_cpu(8, 2);
  t.profile.memory[1].capacity.value = hwdesc::Bytes{1 << 20};
  if (known) {
    t.api.launch.cold.value = hwdesc::Seconds{kCold};
    t.api.launch.cold.low = hwdesc::Seconds{0.6 * kCold};
    t.api.launch.cold.high = hwdesc::Seconds{1.4 * kCold};
  }
  return machine(t);
}

// Steps by the numbers of their programs: 0 is small, 1 touches far more than a unit's own caches
// hold.
ir::Plan plan_of(const std::vector<int>& programs) {
  ir::Plan plan;
  plan.units = 2;
  plan.programs = {product(8, 64, 128, 32), product(512, 2048, 512, 32)};
  for (const int number : programs) add_step(plan, number);
  return plan;
}

// Per step, the time added where the cost of evicted code is known.
std::vector<double> longer(const std::vector<int>& programs) {
  const ir::Plan plan = plan_of(programs);
  const simulator::PlanEstimate with = simulator::simulate(plan, two_units(true)),
                                without = simulator::simulate(plan, two_units(false));
  std::vector<double> out;
  for (size_t i = 0; i < plan.steps.size(); ++i)
    out.push_back(with.steps[i].seconds - without.steps[i].seconds);
  return out;
}

TEST(Code, IsEvictedByStepsThatExceedAUnitsOwnCaches) {
  const std::vector<double> both = longer({0, 1});
  EXPECT_NEAR(both[0], kCold, 1e-9) << "the large product ran since";
  EXPECT_NEAR(both[1], 0, 1e-9) << "the small one evicts nothing";
}

// In steady state: the first step finds the last one's data cached.
TEST(Code, OfOneProgramStaysCachedWhereNothingElseRuns) {
  for (const double seconds : longer({0, 0})) EXPECT_NEAR(seconds, 0, 1e-9);
  const std::vector<double> around = longer({0, 1, 0});
  EXPECT_NEAR(around[0], 0, 1e-9) << "the last step ran it";
  EXPECT_NEAR(around[2], kCold, 1e-9);
}

// With a shared cache that holds the footprints of the steps between, or does not.
TEST(Code, TakesLongerWhereNoCacheHoldsIt) {
  const ir::Plan plan = plan_of({0, 1});
  const auto first_step = [&](double last_cache, double uncached) {
    hwdesc::Target t = small_cpu(8, 2);
    t.profile.memory[1].capacity.value = hwdesc::Bytes{1 << 20};
    t.profile.memory[2].capacity.value = hwdesc::Bytes{last_cache};
    if (uncached > 0) t.api.launch.cold.value = hwdesc::Seconds{kCold};
    if (uncached > kCold) t.api.launch.uncached.value = hwdesc::Seconds{uncached};
    return simulator::simulate(plan, machine(t)).steps[0].seconds;
  };
  for (const double holds : {1e9, 2e6}) {
    const double without = first_step(holds, 0);
    EXPECT_NEAR(first_step(holds, kCold) - without, kCold, 1e-9)
        << "an unknown cost is not assumed";
    EXPECT_NEAR(first_step(holds, 5 * kCold) - without, (holds > 1e8 ? 1 : 5) * kCold, 1e-9)
        << holds;
  }
}

TEST(Code, IsATermOfItsStepAndOfItsInterval) {
  const ir::Plan plan = plan_of({0, 1});
  const simulator::PlanEstimate with = simulator::simulate(plan, two_units(true)),
                                without = simulator::simulate(plan, two_units(false));
  const model::Estimate &step = with.steps[0], &before = without.steps[0];
  EXPECT_EQ(step.terms.back().name, "cold code");
  EXPECT_NEAR(step.terms.back().seconds, kCold, 1e-9);
  EXPECT_NEAR(step.low - before.low, 0.6 * kCold, 1e-9);
  EXPECT_NEAR(step.high - before.high, 1.4 * kCold, 1e-9);
  EXPECT_NEAR(step.efficiency * step.seconds, before.efficiency * before.seconds, 1e-12);
  EXPECT_NEAR(with.total.seconds - without.total.seconds, kCold, 1e-9);
}

// A step hits less in a cache with co-tenants, the longer ago it ran.
TEST(CoTenantEviction, EvictsDataThatIsNotUsedMeanwhile) {
  const auto seconds_of = [](const std::vector<int>& programs, double gigabytes) {
    hwdesc::Target t = small_cpu(8, 2);
    hwdesc::MemoryLevel& last = t.profile.memory[2];
    last.capacity.value = hwdesc::Bytes{64 << 20};
    last.knee = {};
    if (gigabytes > 0) last.co_tenant_eviction.value = hwdesc::Bandwidth{1e9 * gigabytes, ""};
    std::vector<double> out;
    for (const model::Estimate& e : simulator::simulate(plan_of(programs), machine(t)).steps)
      out.push_back(e.seconds);
    return out;
  };
  const std::vector<double> alone = seconds_of({0, 1}, 0), shared = seconds_of({0, 1}, 100),
                            slowly = seconds_of({0, 1}, 1e-3);
  EXPECT_GT(shared[0], 1.2 * alone[0]) << "a large product ran since";
  EXPECT_NEAR(slowly[0], alone[0], 1e-9) << "co-tenants filled hardly anything";
  EXPECT_NEAR(seconds_of({0, 0}, 100)[0], seconds_of({0, 0}, 0)[0], 1e-9)
      << "small ones take too little time";
}

}  // namespace
}  // namespace assay::test
