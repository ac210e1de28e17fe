// How long samples are made: by a made device whose launches cost something and which others hold at first.
#include "probe/bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "probe/kernels.h"

namespace assay::probe {
namespace {

constexpr double kTick = 0.3e-9, kLaunch = 1e-6, kHeld = 0.5e-3;  // s: of an addition, of a launch, of a run that others hold

class HeldModule final : public runtime::Module {
 public:
  explicit HeldModule(int runs_held) : held_(runs_held) {}
  Result<int> allocate(int64_t) override { return 0; }
  void write(runtime::BufferRange to, std::span<const std::byte> data) override { std::memcpy(&asked_[to.offset], data.data(), sizeof(float)); }
  void write_words(int, std::span<const runtime::Word>) override {}
  void read(runtime::BufferRange, std::span<std::byte>) const override {}
  Result<runtime::RunTimes> run(std::span<const runtime::Launch> launches, const runtime::RunOptions&) override {
    runtime::RunTimes out;
    out.busy.emplace_back();
    out.total = {0};
    const double more = held_-- > 0 ? kHeld : 0;
    for (const runtime::Launch& l : launches) {
      out.busy[0].push_back(kLaunch + more + asked_.at(l.arguments.back().offset) * kSentinelSteps * kTick);
      out.total[0] += out.busy[0].back();
    }
    out.steps = out.busy;
    return out;
  }
  const std::vector<runtime::KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return 0; }
  const Diags& warnings() const override { return warnings_; }

 private:
  int held_;
  std::map<int64_t, float> asked_;
  std::vector<runtime::KernelReport> reports_;
  Diags warnings_;
};

Observation sentinel_of(int runs_held) {
  runtime::DeviceInfo info;
  info.widths = {8};
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(info));
  HeldModule module(runs_held);
  Bench bench(module, kernels, info);
  return bench.measure("clock", "sentinel", {}, bench.sentinel_job(1, 50e-6));
}

// While others hold the processor the shortest work seems long enough. Then its launch is most of what it takes.
TEST(Bench, AmountsFoundWhileOthersHeldTheProcessorAreFoundAgain) {
  for (const int held : {0, 2, 4}) {
    const Observation o = sentinel_of(held);
    ASSERT_FALSE(o.samples.empty()) << held;
    for (const double s : o.samples) EXPECT_NEAR(s, kTick, 0.05 * kTick) << held;
    EXPECT_NEAR(o.clock_hz.value(), 1 / kTick, 0.05 / kTick) << held;
  }
}

}  // namespace
}  // namespace assay::probe
