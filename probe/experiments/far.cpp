// Bandwidth of memory beyond all caches.
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

// Seconds of a sample: launch overhead is known to a few microseconds.
constexpr double kLeastFar = 0.25e-3;
constexpr int64_t
    kMostFar = int64_t{4} << 30,
    // Largest buffer in bytes, whose places are exact in f32; part of the memory used.
    kMemoryOfFar = 32;
// Reads of all units in each round, spread over it: co-tenant load changes within milliseconds.
constexpr size_t kFarVisits = 12;

int half_as_many_more(int n) { return n < 4 ? n + 1 : n + n / 2; }
int four_times(int n) { return 4 * n; }

// Groups of which each has 16 blocks at least.
int most_groups(int64_t total, int groups) {
  return static_cast<int>(std::clamp<int64_t>(total / (16 * kBlockBytes), 1, groups));
}

// Devices that read the usual buffer in microseconds get a larger one, and so do those whose last
// cache holds a good part of what a sample writes.
int64_t long_enough(Session& s, int64_t total, int groups) {
  if (!s.device.threads || s.bench.simulated()) return total;
  const int from = s.bench.allocate(total);
  const StreamPoint p{"read", s.known.lanes, groups, total / groups / kBlockBytes * kBlockBytes};
  const Job job = far_job(s.bench, p, from, from, std::make_shared<BlockCursor>(total));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const runtime::Launch l = s.bench.launch(job, s.bench.most_of(job));
    least = std::min(least, s.bench.run({&l, 1}).at(0));
  }
  const auto times = static_cast<int64_t>(std::ceil(kLeastFar / least));
  const int64_t outweighs = buffer_for_far_bytes(
      static_cast<int64_t>(kWriteDominates * s.known.cached) / kBlockBytes * kBlockBytes);
  const int64_t room = std::min(s.device.memory_bytes / kMemoryOfFar, s.bench.largest_buffer());
  return std::max(total, std::min({std::max(total * times, outweighs), kMostFar,
                                   room / kBlockBytes * kBlockBytes}));
}

// One pass over a buffer. Memory that was only filled is two or three times as slow in some virtual
// machines as memory that was read before.
void read_once(Session& s, const char* access, int buffer, int64_t bytes) {
  if (s.device.threads || s.bench.simulated()) return;
  const runtime::Launch pass =
      s.bench.launch(all_units_pass(s, access, buffer, bytes / s.device.units / kBlockBytes), 1);
  s.bench.run({&pass, 1});
}

}  // namespace

// The total footprint is fixed and divided among the units; both buffers together stay within the
// limit.
void run_far(Session& s) {
  const int64_t beyond = footprint_beyond(s.known, s.max_bytes / 2);
  const int most =
      s.known.even(most_groups(beyond, std::max(s.known.memory_groups, s.known.resident)));
  const int64_t total = long_enough(s, beyond, most);
  const auto level = static_cast<double>(s.known.levels.knees.size());
  std::vector<StreamPoint> points;
  // Far memory has the longest latency: as many groups as are resident.
  const int all =
      s.device.threads
          ? s.known.even(most_groups(total, std::max(s.known.memory_groups, s.known.resident)))
          : s.device.units;
  for (const int units : counts_up_to(all, s.device.threads ? four_times : half_as_many_more)) {
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
  for (const int buffer : {from, other}) read_once(s, "read", buffer, total);
  read_once(s, "write", to, total);
  std::vector<Job> jobs;
  const auto cursor = std::make_shared<BlockCursor>(total);
  for (const StreamPoint& p : points) jobs.push_back(far_job(s.bench, p, from, to, cursor));
  // Waves wait for their parameters, and those that only read for their last line.
  const std::vector<Plateau>& plateaus = s.known.levels.plateaus;
  const double last_line = plateaus.empty() ? 0 : plateaus.back().seconds;
  for (size_t i = 0; s.device.threads && i < jobs.size(); ++i)
    jobs[i].setup_s = s.bench.setup_time(jobs[i]) + (points[i].access == "read" ? last_line : 0);
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
