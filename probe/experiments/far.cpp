// Rates of what lies behind all caches.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/experiments/stream_point.h"
#include "probe/inference/footprint.h"

namespace assay::probe {
namespace {

constexpr double kLeastFar =
    0.25e-3;  // s of a sample: what launching takes is not told to more than a few microseconds
constexpr int64_t kMostFar = int64_t{4} << 30,
                  kMemoryOfFar =
                      32;  // bytes of a buffer, whose places floats can count; a part of the memory
constexpr size_t kFarVisits =
    12;  // a round, spread over it, of reading by all units: others come and go within milliseconds

int a_half_more(int n) { return n < 4 ? n + 1 : n + n / 2; }
int four_times(int n) { return 4 * n; }

// Groups of which each has a few blocks at least.
int most_apart(int64_t total, int groups) {
  return static_cast<int>(std::clamp<int64_t>(total / (16 * kBlockBytes), 1, groups));
}

// Devices that read in microseconds what lies behind any cache get a longer buffer, and so do those
// whose last cache takes a good part of what a sample writes.
int64_t long_enough(Session& s, int64_t total, int groups) {
  if (!s.device.threads || s.bench.simulated()) return total;
  const int from = s.bench.allocate(total);
  const StreamPoint p{"read", s.known.lanes, groups, total / groups / kBlockBytes * kBlockBytes};
  const Job job = far_job(s.bench, p, from, from, std::make_shared<Way>(total));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const runtime::Launch l = s.bench.launch(job, s.bench.most_of(job));
    least = std::min(least, s.bench.run({&l, 1}).at(0));
  }
  const auto times = static_cast<int64_t>(std::ceil(kLeastFar / least));
  const int64_t outweighs = buffer_for_far_bytes(static_cast<int64_t>(kOutweighs * s.known.cached) /
                                                 kBlockBytes * kBlockBytes);
  const int64_t room = std::min(s.device.memory_bytes / kMemoryOfFar, s.bench.largest_buffer());
  return std::max(total, std::min({std::max(total * times, outweighs), kMostFar,
                                   room / kBlockBytes * kBlockBytes}));
}

// Once through all of a buffer: what has only been filled is two or three times as slow to some
// guests as what has been read before (docs/probing.md).
void go_through(Session& s, const char* access, int buffer, int64_t bytes) {
  if (s.device.threads || s.bench.simulated()) return;
  const runtime::Launch pass =
      s.bench.launch(pass_over(s, access, buffer, bytes / s.device.units / kBlockBytes), 1);
  s.bench.run({&pass, 1});
}

}  // namespace

// Total footprint fixed, shared out to the units: both buffers together stay within the limit.
void run_far(Session& s) {
  const int64_t beyond = footprint_beyond(s.known, s.max_bytes / 2);
  const int most =
      s.known.even(most_apart(beyond, std::max(s.known.memory_groups, s.known.resident)));
  const int64_t total = long_enough(s, beyond, most);
  const auto level = static_cast<double>(s.known.levels.knees.size());
  std::vector<StreamPoint> points;
  // Far memory waits longest: as many groups as run side by side.
  const int all =
      s.device.threads
          ? s.known.even(most_apart(total, std::max(s.known.memory_groups, s.known.resident)))
          : s.device.units;
  for (const int units : counts_up_to(all, s.device.threads ? four_times : a_half_more)) {
    const int64_t each = total / units / kBlockBytes * kBlockBytes;
    const auto add = [&](const char* access) {
      points.push_back({access, s.known.lanes, units, each, level});
    };
    add("read");
    if (!s.device.threads || units == all)
      for (const char* access : {"write", "copy"}) add(access);
    if (units == all)
      for (const char* access : {"write_stream", "copy_stream", "triad"}) add(access);
  }
  const int from = s.bench.allocate(total), to = s.bench.allocate(total),
            other = s.bench.allocate(total);
  for (StreamPoint& p : points) p.other = other;
  for (const int buffer : {from, other}) go_through(s, "read", buffer, total);
  go_through(s, "write", to, total);
  std::vector<Job> jobs;
  const auto way = std::make_shared<Way>(total);
  for (const StreamPoint& p : points) jobs.push_back(far_job(s.bench, p, from, to, way));
  // Waves wait for their parameters, and those that only read for the last line at the end.
  const std::vector<Plateau>& plateaus = s.known.levels.plateaus;
  const double last_line = plateaus.empty() ? 0 : plateaus.back().seconds;
  for (size_t i = 0; s.device.threads && i < jobs.size(); ++i)
    jobs[i].before = s.bench.time_of_none(jobs[i]) + (points[i].access == "read" ? last_line : 0);
  std::vector<size_t> visits;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool most_asked_for =
        points[i].access == "read" && points[i].units == all && !s.bench.simulated();
    visits.insert(visits.end(), most_asked_for ? kFarVisits : 1, i);
  }
  s.rounds(visits.size(), [&](size_t v) {
    const size_t i = visits[v];
    s.emit(s.bench.measure("far", points[i].access, conditions_of(points[i]), jobs[i]));
  });
}

}  // namespace assay::probe
