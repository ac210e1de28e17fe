// A barrier among resident groups, from one per unit to as many as fit.
#include "probe/kernels/barrier.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/sampling/own_kernels.h"

namespace assay::probe {
namespace {

constexpr int kAttempts = 4;  // of a launch in which some group did not arrive
constexpr int64_t kFew = 2;   // barriers: groups may still be starting before these
constexpr int64_t kMost = 4096;
constexpr int64_t kSimulatedLeast = 8, kSimulatedMost = 32,
                  kSimulatedAll = 1 << 17;    // of all groups
constexpr int64_t kSimulatedPolls = 1 << 10;  // each poll is interpreted
constexpr double kLongest = 0.4e-3;
constexpr int kSamples = 15;

class BarrierTest {
 public:
  BarrierTest(const Session& s, Bench& bench, int most)
      : bench_(bench),
        simulated_(s.device.simulated),
        iterations_(s.known.most_iterations),
        out_(bench.allocate(std::max<int64_t>(most, kSlots) * 4)),
        arrived_(bench.allocate(64)) {}

  int64_t polls() const {
    return std::min(simulated_ ? kSimulatedPolls : kMaxPolls, iterations_ / 2);
  }

  // Seconds of so many barriers and the launch before them. nullopt: not all groups arrived each
  // time.
  std::optional<double> time_of(int groups, int64_t barriers) {
    const int32_t none = 0;
    for (int i = 0; i < kAttempts; ++i) {
      bench_.module().write({arrived_, 0}, std::as_bytes(std::span<const int32_t>(&none, 1)));
      const runtime::Launch l = bench_.launch(job_of(groups), barriers);
      const double t = bench_.run({&l, 1}).at(0);
      std::vector<int32_t> left(static_cast<size_t>(groups));
      bench_.module().read({out_, 0}, std::as_writable_bytes(std::span<int32_t>(left)));
      if (*std::min_element(left.begin(), left.end()) > 0) return t;
    }
    return std::nullopt;
  }

  // Enough barriers for one sample. nullopt: groups do not all arrive.
  std::optional<int64_t> enough(int groups) {
    if (simulated_)
      return time_of(groups, kFew) ? std::optional(std::clamp(kSimulatedAll / groups,
                                                              kSimulatedLeast, kSimulatedMost))
                                   : std::nullopt;
    const int64_t most = std::max(2 * kFew, std::min(kMost, iterations_ / 4));
    for (int64_t n = 2 * kFew;; n *= 2) {
      const auto t = time_of(groups, n);
      if (!t) return n > 2 * kFew ? std::optional(n / 2) : std::nullopt;
      if (*t > kLongest || 2 * n > most) return n;
    }
  }

 private:
  Job job_of(int groups) const {
    Job job;
    job.kernel = kBarrierOfAll;
    job.arguments = {{out_, 0}, {arrived_, 0}};
    job.groups = groups;
    job.parameters = [groups, polls = polls()](int64_t barriers) {
      return std::vector<double>{static_cast<double>(barriers), static_cast<double>(groups),
                                 static_cast<double>(polls)};
    };
    return job;
  }

  Bench& bench_;
  bool simulated_;
  int64_t iterations_;
  int out_, arrived_;
};

// One group per unit, twice as many, and so on, up to all that are resident.
std::vector<int> counts_of(int units, int most) {
  std::vector<int> out;
  for (int n = units; n < most; n *= 2) out.push_back(n);
  out.push_back(most);
  return out;
}

}  // namespace

void run_barrier(Session& s) {
  if (!s.device.threads) return;  // units have queues: a step of a schedule is its barrier
  const int units = std::max(2, static_cast<int>(s.known.units));
  const std::vector<int> counts =
      counts_of(units, std::max(units, s.known.resident > 0 ? s.known.resident : s.known.groups));
  OwnKernels own(s, {device_barrier_kernel()}, s.known.lanes);
  BarrierTest test(s, own.bench, counts.back());
  std::vector<int64_t> barriers(counts.size());
  const auto gave_up = [&](size_t i) {
    barriers[i] = 0;
    s.emit({"barrier",
            "gave_up",
            {{"groups", counts[i]}},
            "1",
            {static_cast<double>(test.polls())},
            {},
            0,
            {}});
  };
  for (size_t i = 0; i < counts.size(); ++i)
    if (const auto n = test.enough(counts[i]))
      barriers[i] = *n;
    else
      gave_up(i);
  s.rounds(counts.size(), [&](size_t i) {
    if (barriers[i] == 0) return;
    Observation o{"barrier", "device", {{"groups", counts[i]}}, "s", {}, {}, 0, {}};
    bool met = true;
    for (int n = 0; n < kSamples && met; ++n)
      own.bench.sample(o, [&] {
        const auto few = test.time_of(counts[i], kFew), many = test.time_of(counts[i], barriers[i]);
        met = met && few && many;
        return met ? (*many - *few) / static_cast<double>(barriers[i] - kFew) : 0;
      });
    if (met)
      s.emit(o);
    else
      gave_up(i);
  });
}

}  // namespace assay::probe
