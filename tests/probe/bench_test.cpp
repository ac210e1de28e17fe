// Calibration of samples, on a fake device with launch overhead and a busy start.
#include "probe/sampling/bench.h"

#include <gtest/gtest.h>

#include <vector>

#include "probe/kernels/kernels.h"
#include "tests/probe/fake_module.h"

namespace assay::probe {
namespace {

constexpr double kTick = 0.3e-9, kLaunch = 1e-6,
                 // s: of an addition, of a launch, of a run while the processor is busy
    kHeld = 0.5e-3;

class DelayedModule final : public test::FakeModule {
 public:
  explicit DelayedModule(int runs_held) : held_(runs_held) {}

 private:
  void start_run() override { more_ = held_-- > 0 ? kHeld : 0; }
  double seconds_of(const runtime::Launch& l) override {
    return kLaunch + more_ + asked(l)[0] * kSentinelSteps * kTick;
  }

  int held_;
  double more_ = 0;
};

Observation sentinel_of(int runs_held) {
  runtime::DeviceInfo info;
  info.widths = {8};
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(info));
  DelayedModule module(runs_held);
  Bench bench(module, kernels, info);
  return bench.measure("clock", "sentinel", {}, bench.sentinel_job(1, 50e-6));
}

// While the processor is busy, the shortest work seems long enough. Later its launch takes most of
// the time.
TEST(Bench, AmountsCalibratedOnABusyProcessorAreCalibratedAgain) {
  for (const int held : {0, 2, 4}) {
    const Observation o = sentinel_of(held);
    ASSERT_FALSE(o.samples.empty()) << held;
    for (const double s : o.samples) EXPECT_NEAR(s, kTick, 0.05 * kTick) << held;
    EXPECT_NEAR(o.clock_hz.value(), 1 / kTick, 0.05 / kTick) << held;
  }
}

// Every other run is at six tenths of the clock.
class SlowedModule final : public test::FakeModule {
  void start_run() override { part_ = runs_++ % 2 == 0 ? 1 : 0.6; }
  double seconds_of(const runtime::Launch& l) override {
    return asked(l)[0] * kSentinelSteps * kTick / part_;
  }

  int runs_ = 0;
  double part_ = 1;
};

TEST(Bench, ABlockHasOneClock) {
  runtime::DeviceInfo info;
  info.widths = {8};
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(info));
  SlowedModule module;
  Bench bench(module, kernels, info);
  Job job = bench.sentinel_job(1, 50e-6);
  job.samples = 6;
  const Observation o = bench.measure("clock", "sentinel", {}, job);
  EXPECT_EQ(o.samples.size(), 3u) << "the others are of another";
  EXPECT_EQ(o.disturbed.size(), 3u);
  for (const double s : o.samples) EXPECT_NEAR(s, kTick, 1e-6 * kTick);
  EXPECT_NEAR(o.clock_hz.value(), 1 / kTick, 1e-6 / kTick);
}

}  // namespace
}  // namespace assay::probe
