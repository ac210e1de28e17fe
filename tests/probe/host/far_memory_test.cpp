// How well the rates of far memory are known, by a fake device whose launches take the time of
// their bytes and a noise of 3 %.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/inference/infer.h"
#include "probe/inference/stats.h"
#include "probe/journal.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "runtime/virtual/noise.h"
#include "tests/probe/fake_module.h"

namespace assay::probe {
namespace {

constexpr double kRate = 1e10, kFast = 1e12;      // bytes per second of every access
constexpr double kLatency = 400e-9;               // of the last line read
constexpr double kTick = 1e-9;                    // an addition
constexpr int64_t kDear = 500'000, kCheap = 100;  // operations that simulating a launch takes
constexpr int kGroups = 32;

class ChargedModule final : public test::FakeModule {
 public:
  ChargedModule(const std::vector<ir::Kernel>& kernels, uint64_t seed, double rate = kRate,
                int64_t executed = kDear)
      : kernels_(kernels), noise_(seed, 0.03), rate_(rate), executed_(executed) {}

  // Of the first group, launch by launch.
  std::vector<float> places_of(const std::string& kernel) const { return places_.at(kernel); }
  // Share of all blocks, read in step by the most groups, that a cache of so many blocks would
  // still hold.
  double held(const std::string& kernel, int64_t blocks) const {
    std::map<int64_t, int64_t> last;
    int64_t now = 0, hits = 0;
    const std::vector<std::vector<float>>& launches = asked_.at(kernel);
    const size_t most =
        std::max_element(launches.begin(), launches.end(), [](const auto& a, const auto& b) {
          return a.size() < b.size();
        })->size();
    for (const std::vector<float>& asked : launches)
      for (int64_t b = 0; asked.size() == most && b < static_cast<int64_t>(asked[1]); ++b)
        for (size_t g = 2; g < asked.size(); ++g) {
          const auto [at, first] = last.try_emplace(
              static_cast<int64_t>(asked[g]) / (kBlockBytes / kPlaceBytes) + b, now);
          if (!first && now - at->second < blocks) ++hits;
          at->second = now++;
        }
    return static_cast<double>(hits) / static_cast<double>(now);
  }

 private:
  int64_t executed() const override { return executed_; }
  double seconds_of(const runtime::Launch& l) override {
    return quiet_seconds_of(l) * noise_.factor();
  }
  double quiet_seconds_of(const runtime::Launch& l) {
    const std::string& name = kernels_[static_cast<size_t>(l.kernel)].name;
    if (name == "nothing") return kTick;
    const std::vector<float>& wanted = asked(l);
    if (name == "sentinel") return wanted[0] * kSentinelSteps * kTick;
    const double bytes = static_cast<double>(kBlockBytes) * wanted[0] * wanted[1] *
                         static_cast<double>(l.queues[0].end - l.queues[0].begin);
    if (wanted[1] > 0) {
      places_[name].push_back(wanted[2]);
      asked_[name].push_back(wanted);
    }
    const double took = bytes * static_cast<double>(l.arguments.size() - 1) / rate_;
    return name.starts_with("read") && bytes > 0 ? took + kLatency : took;
  }

  const std::vector<ir::Kernel>& kernels_;
  std::map<std::string, std::vector<float>> places_;
  std::map<std::string, std::vector<std::vector<float>>> asked_;
  runtime::simulated::Noise noise_;
  double rate_;
  int64_t executed_;
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

void measure(ChargedModule& module, const std::vector<ir::Kernel>& kernels, const Known& known,
             uint64_t turn, Observations& to, const runtime::DeviceInfo& info = waves()) {
  Bench bench(module, kernels, info);
  const Observations earlier;
  Session s{bench,
            info,
            earlier,
            known,
            1,
            1,
            0,
            std::min(int64_t{1} << 30, bench.largest_buffer()),
            info.widths,
            kernels,
            nullptr,
            [&](const std::string& line) { add_line(line, to); },
            std::mt19937_64(turn)};
  run_far(s);
}

// As a probe runs it: twice.
hwdesc::MemoryBandwidth far_rates(const std::vector<ir::Kernel>& kernels, uint64_t seed) {
  const Known known = known_of_waves(kGroups);
  Observations seen;
  for (const uint64_t turn : {0, 1}) {
    ChargedModule module(kernels, 2 * seed + turn);
    measure(module, kernels, known, turn, seen);
  }
  hwdesc::Profile p;
  infer_memory(seen, known, p);
  return p.memory.at(0).bandwidth;
}

// For any amount of simulation per sample: a hundred rates within 5 %, none by chance.
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

// Chunks are strided: repeated over the same bytes, sets with few lines would hit.
TEST(Far, ManyShortChunksDoNotReuseCachedBytes) {
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(waves()));
  ChargedModule module(kernels, 1);
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

// Beyond the largest buffer kernels read 0 or anything, and fast.
TEST(Far, BuffersAreNoLargerThanTheDeviceAllows) {
  constexpr int64_t kAllowed = 96 << 20;
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(waves()));
  const auto largest = [&](bool said) {
    runtime::DeviceInfo info = waves();
    info.memory_bytes = int64_t{64} << 30;
    if (said) info.facts.emplace_back("largest_buffer", std::to_string(kAllowed));
    ChargedModule module(kernels, 1, kFast, kCheap);
    Observations seen;
    Known known = known_of_waves(kGroups);
    known.cached = 40 << 20;
    measure(module, kernels, known, 0, seen, info);
    EXPECT_FALSE(select(seen, "far", "read").empty());
    Bench bench(module, kernels, info);
    EXPECT_EQ(bench.largest_buffer(), said ? kAllowed : info.memory_bytes);
    return module.largest();
  };
  EXPECT_GT(largest(false), kAllowed);
  EXPECT_LE(largest(true), kAllowed);
}

// Where a launch covers most of the buffer, the next one finds all but its end cached.
TEST(Far, TheLastChunkIsNotReadNext) {
  const std::vector<ir::Kernel> kernels = all_kernels(shape_of(waves()));
  for (const int groups : {4, 32, 984, 1024, 4000}) {
    ChargedModule module(kernels, 1, kFast, kCheap);
    Observations seen;
    measure(module, kernels, known_of_waves(groups), 0, seen);
    constexpr int64_t kHeld = (16 << 20) / kBlockBytes;  // an eighth of the buffer, the minimum
    for (const char* access : {"read", "copy"})
      EXPECT_LT(module.held(access_name(access, 32), kHeld), 0.01) << access << " by " << groups;
  }
}

}  // namespace
}  // namespace assay::probe
