// A barrier among groups that run at once, from one per unit to as many as fit.
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

constexpr int kTries = 4;    // of a launch in which not all groups met
constexpr int64_t kFew = 2;  // barriers: until then groups may still be starting
constexpr int64_t kMost = 4096;
constexpr int64_t kSimulatedLeast = 8, kSimulatedMost = 32,
                  kSimulatedAll = 1 << 17;    // of all groups
constexpr int64_t kSimulatedLooks = 1 << 10;  // each of them is executed
constexpr double kLongest = 0.4e-3;
constexpr int kSamples = 15;

class AllMeeting {
 public:
  AllMeeting(const Session& s, Bench& bench, int most)
      : bench_(bench),
        simulated_(s.device.simulated),
        iterations_(s.known.most_iterations),
        out_(bench.allocate(std::max<int64_t>(most, kSlots) * 4)),
        come_(bench.allocate(64)) {}

  int64_t looks() const {
    return std::min(simulated_ ? kSimulatedLooks : kMostLooks, iterations_ / 2);
  }

  // Seconds of so many barriers, with what comes before them; nullopt: not all groups met each
  // time.
  std::optional<double> time_of(int groups, int64_t barriers) {
    const int32_t none = 0;
    for (int i = 0; i < kTries; ++i) {
      bench_.module().write({come_, 0}, std::as_bytes(std::span<const int32_t>(&none, 1)));
      const runtime::Launch l = bench_.launch(job_of(groups), barriers);
      const double t = bench_.run({&l, 1}).at(0);
      std::vector<int32_t> left(static_cast<size_t>(groups));
      bench_.module().read({out_, 0}, std::as_writable_bytes(std::span<int32_t>(left)));
      if (*std::min_element(left.begin(), left.end()) > 0) return t;
    }
    return std::nullopt;
  }

  // As many as make a sample long enough; nullopt: they do not meet.
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
    job.arguments = {{out_, 0}, {come_, 0}};
    job.groups = groups;
    job.parameters = [groups, looks = looks()](int64_t barriers) {
      return std::vector<double>{static_cast<double>(barriers), static_cast<double>(groups),
                                 static_cast<double>(looks)};
    };
    return job;
  }

  Bench& bench_;
  bool simulated_;
  int64_t iterations_;
  int out_, come_;
};

// One per unit, twice as many, and so on; the last are as many as run at once.
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
  AllMeeting meeting(s, own.bench, counts.back());
  std::vector<int64_t> barriers(counts.size());
  const auto gave_up = [&](size_t i) {
    barriers[i] = 0;
    s.emit({"barrier",
            "gave_up",
            {{"groups", counts[i]}},
            "1",
            {static_cast<double>(meeting.looks())},
            {},
            0,
            {}});
  };
  for (size_t i = 0; i < counts.size(); ++i)
    if (const auto n = meeting.enough(counts[i]))
      barriers[i] = *n;
    else
      gave_up(i);
  s.rounds(counts.size(), [&](size_t i) {
    if (barriers[i] == 0) return;
    Observation o{"barrier", "device", {{"groups", counts[i]}}, "s", {}, {}, 0, {}};
    bool met = true;
    for (int n = 0; n < kSamples && met; ++n)
      own.bench.sample(o, [&] {
        const auto few = meeting.time_of(counts[i], kFew),
                   many = meeting.time_of(counts[i], barriers[i]);
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
