// A machine that runs at half its pace for a while, as a script of times says.
#include "toolkit/pace.h"

#include <gtest/gtest.h>

#include "toolkit/profiles.h"

namespace assay::toolkit {
namespace {

struct Script {
  std::vector<double> seconds;  // of each burst; the last one stays
  size_t asked = 0;
  size_t launches = 0;
};

class ScriptedModule final : public runtime::Module {
 public:
  explicit ScriptedModule(Script& script) : script_(script) {}
  Result<int> allocate(int64_t) override { return 0; }
  void write(runtime::BufferRange, std::span<const std::byte>) override {}
  void write_words(int, std::span<const runtime::Word>) override {}
  void read(runtime::BufferRange, std::span<std::byte>) const override {}
  Result<runtime::RunTimes> run(std::span<const runtime::Launch> launches, const runtime::RunOptions&) override {
    script_.launches = launches.size();
    const double t = script_.seconds.at(std::min(script_.asked++, script_.seconds.size() - 1));
    runtime::RunTimes out;
    out.steps.assign(1, std::vector<double>(launches.size(), t));
    out.busy = out.steps;
    out.total = {t};
    return out;
  }
  const std::vector<runtime::KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return 0; }
  const Diags& warnings() const override { return warnings_; }

 private:
  Script& script_;
  std::vector<runtime::KernelReport> reports_;
  Diags warnings_;
};

class ScriptedDevice final : public runtime::Device {
 public:
  explicit ScriptedDevice(std::vector<double> seconds) : script{std::move(seconds)} { info_.units = 2; }
  Script script;
  std::string loaded;
  const runtime::DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<runtime::Module>> load(std::span<const ir::Kernel> kernels, const hwdesc::Target&,
                                                const runtime::LoadOptions&) override {
    loaded = kernels[0].name;
    return std::unique_ptr<runtime::Module>(std::make_unique<ScriptedModule>(script));
  }

 private:
  runtime::DeviceInfo info_;
};

hwdesc::Target target(const char* profile) { return *target_of(*load_profile(profile), ""); }

std::unique_ptr<Pace> pace_on(ScriptedDevice& device) {
  Result<std::unique_ptr<Pace>> pace = Pace::load(device, target("generic/x86-avx512-2core"), "");
  EXPECT_TRUE(pace.ok());
  return std::move(*pace);
}

TEST(Pace, IsMeasuredByTheFastestBurstSoFar) {
  ScriptedDevice device({2e-4, 1e-4, 1.1e-4, 2e-4, 1e-4});
  const auto pace = pace_on(device);
  EXPECT_EQ(device.loaded, "op_fma_16_12");
  EXPECT_FALSE(*pace->slow(nullptr)) << "the first one is all there is";
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_FALSE(*pace->slow(nullptr)) << "a tenth is no other guest";
  EXPECT_TRUE(*pace->slow(nullptr));
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_EQ(device.script.launches, 2u) << "one that wakes the units, one that counts";
}

TEST(Pace, WaitsUntilTheMachineIsBackAndNotLonger) {
  ScriptedDevice device({1e-4, 2e-4, 2e-4, 1e-4, 2e-4});
  const auto pace = pace_on(device);
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_TRUE(pace->wait(nullptr).empty());
  EXPECT_EQ(device.script.asked, 4u);
}

TEST(Pace, PatienceEnds) {
  ScriptedDevice device({1e-4, 2e-4});
  const auto pace = pace_on(device);
  EXPECT_FALSE(*pace->slow(nullptr));
  EXPECT_TRUE(pace->wait(nullptr).empty());
  EXPECT_GT(device.script.asked, 5u);
  EXPECT_LT(device.script.asked, 100u);
}

TEST(Pace, ThreadsOfLanesHaveNone) {
  ScriptedDevice device({1e-4});
  const auto pace = Pace::load(device, target("nvidia/rtx-3090"), "");
  ASSERT_TRUE(pace.ok());
  EXPECT_EQ(*pace, nullptr);
  EXPECT_TRUE(device.loaded.empty());
}

}  // namespace
}  // namespace assay::toolkit
