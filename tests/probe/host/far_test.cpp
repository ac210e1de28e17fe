// Far memory's rates by a made device whose launches take what their bytes take and a noise of 3 %: how well they are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/infer.h"
#include "probe/journal.h"
#include "probe/kernels.h"
#include "runtime/virtual/noise.h"

namespace assay::probe {
namespace {

constexpr double kRate = 1e10;         // bytes per second of every access
constexpr double kLatency = 400e-9;    // of the last line read
constexpr double kTick = 1e-9;         // an addition
constexpr int64_t kDear = 500'000;     // operations that simulating a launch takes
constexpr int kGroups = 32;

class MadeModule final : public runtime::Module {
 public:
  MadeModule(const std::vector<ir::Kernel>& kernels, uint64_t seed) : kernels_(kernels), noise_(seed, 0.03) {}

  Result<int> allocate(int64_t) override { return buffers_++; }
  void write(runtime::BufferRange to, std::span<const std::byte> data) override {
    std::vector<float>& values = written_[{to.buffer, to.offset}];
    values.resize(data.size() / sizeof(float));
    std::memcpy(values.data(), data.data(), data.size());
  }
  void write_words(int, std::span<const runtime::Word>) override {}
  void read(runtime::BufferRange, std::span<std::byte>) const override {}
  Result<runtime::RunTimes> run(std::span<const runtime::Launch> launches, const runtime::RunOptions&) override {
    runtime::RunTimes out;
    out.busy.emplace_back();
    out.total = {0};
    for (const runtime::Launch& l : launches) {
      out.busy[0].push_back(seconds_of(l) * noise_.factor());
      out.total[0] += out.busy[0].back();
    }
    out.steps = out.busy;
    out.executed = kDear;
    return out;
  }
  const std::vector<runtime::KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return 0; }
  const Diags& warnings() const override { return warnings_; }
  // Of the first group, launch by launch.
  std::vector<float> places_of(const std::string& kernel) const { return places_.at(kernel); }

 private:
  double seconds_of(const runtime::Launch& l) {
    const std::string& name = kernels_[static_cast<size_t>(l.kernel)].name;
    if (name == "nothing") return kTick;
    const std::vector<float>& asked = written_.at({l.arguments.back().buffer, l.arguments.back().offset});
    if (name == "sentinel") return asked[0] * kSentinelSteps * kTick;
    const double bytes = static_cast<double>(kBlockBytes) * asked[0] * asked[1] * static_cast<double>(l.queues[0].end - l.queues[0].begin);
    if (asked[1] > 0) places_[name].push_back(asked[2]);
    const double took = bytes * static_cast<double>(l.arguments.size() - 1) / kRate;
    return name.starts_with("read") && bytes > 0 ? took + kLatency : took;
  }

  const std::vector<ir::Kernel>& kernels_;
  std::map<std::string, std::vector<float>> places_;
  runtime::simulated::Noise noise_;
  int buffers_ = 0;
  std::map<std::pair<int, int64_t>, std::vector<float>> written_;
  std::vector<runtime::KernelReport> reports_;
  Diags warnings_;
};

runtime::DeviceInfo waves() {
  runtime::DeviceInfo info;
  info.threads = info.simulated = true;
  info.widths = {32};
  return info;
}

Known known_of_waves(int groups) {
  Known k;
  k.threads = true;
  k.lanes = 32;
  k.units = 4;
  k.groups = k.memory_groups = k.resident = groups;
  k.levels.plateaus = {{1 << 12, 1 << 26, kLatency}};
  return k;
}

void measure(MadeModule& module, const std::vector<ir::Kernel>& kernels, const Known& known, uint64_t turn, Observations& to) {
  const runtime::DeviceInfo info = waves();
  Bench bench(module, kernels, info);
  const Observations earlier;
  Session s{bench, info, earlier, known, 1, 1, 0, int64_t{1} << 30, info.widths, kernels, nullptr, [&](const std::string& line) { add_line(line, to); }, std::mt19937_64(turn)};
  run_far(s);
}

// As a probe runs it: twice.
hwdesc::MemoryBandwidth far_rates(const std::vector<ir::Kernel>& kernels, uint64_t seed) {
  const Known known = known_of_waves(kGroups);
  Observations seen;
  for (const uint64_t turn : {0, 1}) {
    MadeModule module(kernels, 2 * seed + turn);
    measure(module, kernels, known, turn, seen);
  }
  hwdesc::Profile p;
  infer_memory(seen, known, p);
  return p.memory.at(0).bandwidth;
}

// However much there is to simulate for a sample: of a hundred rates within 5 %, none may be a matter of luck.
TEST(Far, NoiseLeavesAHundredthOfARate) {
  constexpr int kSeeds = 100;
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(waves()));
  double squares = 0;
  int n = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const hwdesc::MemoryBandwidth found = far_rates(kernels, seed);
    for (const auto* rate : {&found.read, &found.write, &found.copy, &found.triad}) {
      ASSERT_TRUE(rate->known()) << rate->note;
      squares += std::pow(rate->value->v / kRate - 1, 2);
      ++n;
    }
  }
  EXPECT_LT(std::sqrt(squares / n), 0.011);
}

// Chunks lie apart: over the same bytes again, a cache's sets that few of them meet in would answer.
TEST(Far, ManyGroupsThatSoonAreThroughDoNotComeOverTheSameBytesAgain) {
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(waves()));
  MadeModule module(kernels, 1);
  Observations seen;
  measure(module, kernels, known_of_waves(1024), 0, seen);
  for (const char* access : {"write", "copy", "triad"}) {
    std::vector<float> places = module.places_of(access_name(access, 32));
    const size_t launches = places.size();
    std::sort(places.begin(), places.end());
    EXPECT_GE(launches, 8u);
    EXPECT_TRUE(std::adjacent_find(places.begin(), places.end()) == places.end()) << access;
  }
}

}  // namespace
}  // namespace assay::probe
