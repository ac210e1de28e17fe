// Bandwidth of the caches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/experiments/stream_point.h"
#include "probe/inference/footprint.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

constexpr int64_t kNearBytes = 16 << 10;  // inside any first-level cache

// A host may back large guest pages by small ones. Then some sets of a cache have more lines than
// others, and more than half of its capacity takes a third longer. On some processors stores take
// up to three times as long at some offsets from what is read, which depend on physical pages. So a
// few offsets are tried.
constexpr std::array<int64_t, 4> kReadFrom = {0, 2 << 20, 4 << 20, 6 << 20};
constexpr std::array<int64_t, 9> kWrittenFrom = {
    0, 64, 512, 1088, 2112, 37 * 4096 + 576, 2 << 20, (4 << 20) + 64, (6 << 20) + 576};

// Sets the offset of the point to the fastest of some.
void settle_place(Session& s, StreamPoint& p, int64_t StreamPoint::*place,
                  std::span<const int64_t> places, int from, int to, double target_s) {
  const std::string key = fmt::format("places/{}/{}/{}", p.access, p.units, p.bytes);
  double least = 0;
  int64_t fastest = 0;
  for (const int64_t begin : places) {
    p.*place = begin;
    const Job job = stream_job(p, from, to, target_s);
    const int64_t passes = s.bench.amount_for(key, job);
    s.warm_up(s.bench.launch(job, 1));
    const std::vector<runtime::Launch> twice(2, s.bench.launch(job, passes));
    const std::vector<double> times = s.bench.run(twice);
    if (const double t = std::min(times[0], times[1]); least == 0 || t < least) {
      least = t;
      fastest = begin;
    }
  }
  p.*place = fastest;
}

void measure_stream(Session& s, const std::string& experiment, StreamPoint p, int from, int to,
                    double target_s) {
  if (!s.device.threads && !s.bench.simulated()) {
    if (p.access == "read" && p.level > 0)
      settle_place(s, p, &StreamPoint::read_from, kReadFrom, from, to, target_s);
    if (copies(p.access) || p.access == "write")
      settle_place(s, p, &StreamPoint::written_from, kWrittenFrom, from, to, target_s);
  }
  Job job = p.window > 0 ? window_job(p, static_cast<int>(s.known.units), from, target_s)
                         : stream_job(p, from, to, target_s);
  if (s.device.threads)
    job.setup_s = s.bench.setup_time(job);  // all waves begin at once and wait for their parameters
  const runtime::Launch pass = s.bench.launch(job, 1);
  s.warm_up(pass);  // caches the footprint
  s.emit(s.bench.measure(experiment, p.access, conditions_of(p), job));
}

// Both buffers hold the largest footprint of all units. A point that is listed several times is
// measured as often in each round.
void stream_points(Session& s, const std::string& experiment,
                   const std::vector<StreamPoint>& points, double target_s) {
  if (points.empty()) return;
  int64_t most = 0;
  for (const StreamPoint& p : points)
    most = std::max(most, p.together ? p.bytes : p.bytes * p.units);
  most += (kDivergentStride * s.lanes.back() * 4 / kBlockBytes + 1) *
          kBlockBytes;  // gathers reach into the blocks after,
  most += most / (kBlockBytes / (kRowBytes - kBlockBytes)) +
          s.device.units * kBlockBytes;  // and short runs beyond them
  const int from = s.bench.allocate(most + (s.bench.simulated() ? 0 : kReadFrom.back())),
            to = s.bench.allocate(most + kWrittenFrom.back());
  s.rounds(points.size(),
           [&](size_t i) { measure_stream(s, experiment, points[i], from, to, target_s); });
}

std::vector<int> one_and_all(int units) {
  return units > 1 ? std::vector<int>{1, units} : std::vector<int>{1};
}

// Blocks of a window. Simulating reads of a whole large cache by every group takes minutes. A part
// is enough if a unit's groups together read more than its private cache holds.
int64_t window_of(const Session& s, size_t level, int groups, int64_t bytes) {
  constexpr double kLeavesOwn = 2.5;
  if (!s.device.simulated) return 0;
  const double per_unit = std::max(1.0, groups / s.known.units),
               own = kLeavesOwn * s.known.levels.knees[level - 1].to;
  const int64_t blocks = bytes / kBlockBytes,
                least = static_cast<int64_t>(own / per_unit / kBlockBytes) + 1;
  return least * static_cast<int64_t>(std::ceil(per_unit)) < blocks / 2
             ? least
             : 0;  // else windows would hit in the private cache
}

// Where the device schedules groups, a private cache shows when all groups read the same bytes. Of
// a shared cache every group reads a part. Directly after private caches, which together may hold
// as much, each group reads all of it from a start of its own.
std::vector<StreamPoint> points_of_waves(const Session& s) {
  std::vector<StreamPoint> points;
  // With fewer groups than wanted, some units may have more of them than others. Then a number that
  // is even over the units is measured, too.
  const auto add = [&](const char* access, int64_t bytes, size_t level) {
    const int64_t room = bytes / kBlockBytes / (copies(access) ? 2 : 1);
    const int most =
        s.known.even(static_cast<int>(std::clamp<int64_t>(room, 1, s.known.memory_groups)));
    for (const int parts : {most, s.known.level(most)}) {
      const int64_t each = std::max(
          bytes / (copies(access) ? 2 : 1) / parts / kBlockBytes * kBlockBytes, kBlockBytes);
      if (parts == most || points.back().units != parts)
        points.push_back({access, s.known.lanes, parts, each, static_cast<double>(level)});
    }
  };
  // One part for each group: the groups of a unit divide its cache, with equally many on each unit.
  const auto add_own = [&](const char* access, int64_t bytes, size_t level) {
    const auto units = static_cast<int64_t>(s.known.units);
    const int64_t room = bytes / kBlockBytes / (copies(access) ? 2 : 1),
                  each = std::clamp<int64_t>(s.known.groups / units, 1, std::max<int64_t>(1, room));
    const int64_t part = std::max<int64_t>(1, room / each) * kBlockBytes;
    points.push_back(
        {access, s.known.lanes, static_cast<int>(each * units), part, static_cast<double>(level)});
  };
  for (size_t i = 0; i < s.known.levels.knees.size(); ++i)
    for (const int64_t bytes : footprints_within(s.known.levels, i, 1)) {
      const bool shared = s.known.sharing[i].shared,
                 behind_own = i > 0 && !s.known.sharing[i - 1].shared;
      // No two of them from the same start.
      const int groups = shared ? s.known.even(static_cast<int>(
                                      std::clamp<int64_t>(bytes / kBlockBytes, 1, s.known.groups)))
                                : s.known.groups;
      const auto add_together = [&](int n) {
        points.push_back({"read", s.known.lanes, n, bytes, static_cast<double>(i), true, shared, -1,
                          shared ? window_of(s, i, n, bytes) : 0});
      };
      if (shared && !behind_own)
        add("read", bytes, i);
      else
        add_together(groups);
      if (shared && behind_own && s.known.level(groups) != groups)
        add_together(s.known.level(groups));
      if (!shared) {
        add_own("write", bytes, i);
        add_own("copy", bytes, i);
        continue;
      }
      add("write", bytes, i);
      add("copy", bytes, i);
    }
  return points;
}

}  // namespace

void run_access(Session& s) {
  std::vector<StreamPoint> points;
  const int64_t bytes = s.device.simulated && s.device.threads
                            ? kBlockBytes
                            : kNearBytes;  // groups are simulated one at a time
  for (const char* access : {"read", "splat", "write", "gather", "scatter"})
    for (const int lanes : s.lanes)
      points.push_back({access, lanes, s.known.groups, bytes, 0, s.device.threads});
  stream_points(s, "access", points, 0.5e-3);
}

void run_bandwidth(Session& s) {
  // A co-tenant on the same core halves the bandwidth of private caches: short visits, some without
  // it.
  constexpr int kVisitsOfOwn = 3;
  if (s.device.threads) return stream_points(s, "bandwidth", points_of_waves(s), 1e-3);
  std::vector<StreamPoint> points;
  for (size_t level = 0; level < s.known.levels.knees.size(); ++level)
    for (const int units : one_and_all(s.device.units))
      for (const std::string access :
           {"read", "write", "copy", "short_run_read", "short_run_write"}) {
        const bool shared = s.known.sharing[level].shared;
        if (in_short_runs(access) && (level == 0 || units != (shared ? s.device.units : 1) ||
                                      s.known.lanes != s.lanes.back()))
          continue;
        std::vector<int64_t> footprints =
            footprints_within(s.known.levels, level, shared ? units : 1);
        // Adjacent knees leave no plateau between them. Then the shared cache is measured beyond
        // the private caches of all units.
        if (const auto streamed = footprint_of_streams(s.known, units);
            streamed && shared && level + 1 == s.known.levels.knees.size())
          footprints = {*streamed};
        if (footprints.empty() && shared)
          if (const auto past = footprint_past_private(s.known, units)) footprints = {*past};
        for (const int64_t bytes : footprints) {
          const int64_t half =
              std::max<int64_t>(kBlockBytes, bytes / 2 / kBlockBytes * kBlockBytes);
          const int64_t each = copies(access) ? half : bytes;
          const bool looked_at_again = !shared && !in_short_runs(access) && !s.bench.simulated();
          points.insert(points.end(), looked_at_again ? kVisitsOfOwn : 1,
                        {access, s.known.lanes, units, each, static_cast<double>(level)});
        }
      }
  stream_points(s, "bandwidth", points, 1e-3);
}

}  // namespace assay::probe
