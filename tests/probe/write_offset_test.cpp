// Writes and copies within a cache use the offset at which a fake device writes fastest.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/journal.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "tests/probe/fake_module.h"

namespace assay::probe {
namespace {

constexpr double kRate = 1e10;  // bytes a second
constexpr double kTick = 1e-9;

// Writing takes three times as long from all offsets but one.
class PlacedModule final : public test::FakeModule {
 public:
  PlacedModule(const std::vector<ir::Kernel>& kernels, int64_t fast)
      : kernels_(kernels), fast_(fast) {}

  // Takes the time that it reports, else it would be implausible.
  Result<runtime::RunTimes> run(std::span<const runtime::Launch> launches,
                                const runtime::RunOptions& options) override {
    auto times = FakeModule::run(launches, options);
    std::this_thread::sleep_for(std::chrono::duration<double>(times->total[0]));
    return times;
  }

 private:
  double seconds_of(const runtime::Launch& l) override {
    const std::string& name = kernels_[static_cast<size_t>(l.kernel)].name;
    if (name == "nothing") return kTick;
    const std::vector<float>& wanted = asked(l);
    if (name == "sentinel") return wanted[0] * kSentinelSteps * kTick;
    const bool writes = name.starts_with("write") || name.starts_with("copy");
    const double bytes = static_cast<double>(kBlockBytes) * wanted[0] * wanted[1] *
                         static_cast<double>(l.arguments.size() - 1);
    return bytes / kRate * (writes && l.arguments[l.arguments.size() - 2].offset != fast_ ? 3 : 1);
  }

  const std::vector<ir::Kernel>& kernels_;
  int64_t fast_;
};

Observations bandwidths_where(int64_t fast) {
  runtime::DeviceInfo info;
  info.units = 1;
  info.widths = {16};
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(info));
  PlacedModule module(kernels, fast);
  Bench bench(module, kernels, info);
  Known known;
  known.lanes = 16;
  known.units = 1;
  known.levels.plateaus = {{1 << 12, 40 << 10, 1e-9}, {1 << 20, 1 << 26, 1e-7}};
  known.levels.knees = {{48 << 10, 52 << 10}};
  known.sharing = {{false, ""}};
  Observations seen;
  const Observations earlier;
  Session s{bench,
            info,
            earlier,
            known,
            0,
            0,
            0,
            int64_t{1} << 30,
            info.widths,
            kernels,
            nullptr,
            [&](const std::string& line) { add_line(line, seen); },
            std::mt19937_64(1)};
  run_bandwidth(s);
  return seen;
}

TEST(WriteOffset, WritesAndCopiesUseTheFastest) {
  for (const int64_t fast : {0, 512, 37 * 4096 + 576}) {
    const Observations seen = bandwidths_where(fast);
    for (const char* access : {"read", "write", "copy"}) {
      int blocks = 0;
      for (const Observation& o : seen.points) {
        if (o.what != access) continue;
        ++blocks;
        for (const double seconds : o.samples)
          EXPECT_NEAR(seconds * kRate, 1, 0.01) << access << ", fast at " << fast;
      }
      EXPECT_GT(blocks, 0) << access;
    }
  }
}

}  // namespace
}  // namespace assay::probe
