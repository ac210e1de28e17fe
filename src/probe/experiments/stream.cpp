// Experiments on throughput of memory and on the cost of launching.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <fmt/format.h>

#include "probe/experiments/experiments.h"
#include "probe/experiments/found.h"
#include "probe/inference/footprint.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr int64_t kNearBytes = 16 << 10;  // inside any first-level cache

struct StreamPoint {
  std::string access;
  int lanes = 0, units = 1;  // groups at a time
  int64_t bytes = 0;         // per unit, of one buffer
  double level = 0;          // position in the curve's levels
  bool together = false;     // all groups in the same bytes,
  bool around = false;       // each from a place of its own on
  int other = -1;            // the second buffer that is read
  int64_t window = 0;        // blocks of `around` that a group reads; 0: all of them
  int64_t read_from = 0, written_from = 0;  // bytes behind the beginning of the buffer
};

bool copies(const std::string& access) { return access.starts_with("copy") || access == "triad"; }
double streams(const std::string& access) { return access == "triad" ? 3 : copies(access) ? 2 : 1; }
bool in_runs(const std::string& access) { return access.starts_with("apart"); }
bool reads(const std::string& access) { return !access.starts_with("write") && access != "scatter" && access != "apart_write"; }

// Passes over a few blocks each.
Job window_job(const StreamPoint& p, int units, int from, double target_s) {
  Job job;
  job.kernel = access_name("read", p.lanes);
  job.arguments = {{from, 0}};
  job.groups = p.units;
  job.parameters = [p, units](int64_t passes) {
    std::vector<double> out = pass_parameters(passes, p.window, 0, 0, p.units);
    const int64_t windows = p.bytes / kBlockBytes / p.window;
    for (int g = 0; g < p.units; ++g) out[static_cast<size_t>(g) + 2] = static_cast<double>(window_of_group(g, units, windows) * p.window * kPlaces);
    return out;
  };
  job.work = static_cast<double>(p.window * kBlockBytes) * p.units;
  job.most = kMaxPasses;
  job.target_s = target_s;
  return job;
}

// Passes over blocks; unit u has the u-th part of each buffer.
Job stream_job(const StreamPoint& p, int from, int to, double target_s) {
  Job job;
  job.kernel = access_name(p.around ? "around" : p.access, p.lanes);
  if (reads(p.access)) job.arguments.push_back({from, p.read_from});
  if (p.access == "triad") job.arguments.push_back({p.other, 0});
  if (copies(p.access) || !reads(p.access)) job.arguments.push_back({to, p.written_from});
  const int64_t blocks = std::max<int64_t>(1, p.bytes / kBlockBytes);
  job.groups = p.units;
  const int64_t room = in_runs(p.access) ? (blocks * kRowBytes + kBlockBytes - 1) / kBlockBytes : blocks;
  job.parameters = [=, units = p.units, together = p.together, around = p.around](int64_t passes) {
    std::vector<double> out = pass_parameters(passes, blocks, together ? 0 : room, 0, units);
    for (int g = 0; around && g < units; ++g) out[static_cast<size_t>(g) + 2] = static_cast<double>(g * blocks / units);
    return out;
  };
  job.work = static_cast<double>(blocks * kBlockBytes) * p.units * streams(p.access);
  job.most = kMaxPasses;
  job.target_s = target_s;
  return job;
}

Conditions conditions_of(const StreamPoint& p) {
  return {{"lanes", p.lanes}, {"units", p.units}, {"bytes", static_cast<double>(p.bytes)}, {"level", p.level}};
}

// Large pages of a guest that its host has put together of small ones crowd some sets of a cache: more than half of one takes a third longer
// there. And writing takes up to three times as long from some places behind what is read as from others on some processors, and which those
// are depends on where pages happen to lie: a quick look at a few.
constexpr std::array<int64_t, 4> kReadFrom = {0, 2 << 20, 4 << 20, 6 << 20};
constexpr std::array<int64_t, 9> kWrittenFrom = {0, 64, 512, 1088, 2112, 37 * 4096 + 576, 2 << 20, (4 << 20) + 64, (6 << 20) + 576};

// Sets the place of the point to the one of some from where it takes least.
void settle_place(Session& s, StreamPoint& p, int64_t StreamPoint::* place, std::span<const int64_t> places, int from, int to, double target_s) {
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

void measure_stream(Session& s, const std::string& experiment, StreamPoint p, int from, int to, double target_s) {
  if (!s.device.threads && !s.bench.simulated()) {
    if (p.access == "read" && p.level > 0) settle_place(s, p, &StreamPoint::read_from, kReadFrom, from, to, target_s);
    if (copies(p.access) || p.access == "write") settle_place(s, p, &StreamPoint::written_from, kWrittenFrom, from, to, target_s);
  }
  Job job = p.window > 0 ? window_job(p, static_cast<int>(s.known.units), from, target_s) : stream_job(p, from, to, target_s);
  if (s.device.threads) job.before = s.bench.time_of_none(job);  // all waves begin at once, and wait for their parameters
  const runtime::Launch pass = s.bench.launch(job, 1);
  s.warm_up(pass);  // brings the footprint in
  s.emit(s.bench.measure(experiment, p.access, conditions_of(p), job));
}

constexpr double kLeastFar = 0.25e-3;      // s of a sample: what launching takes is not told to more than a few microseconds
constexpr int64_t kMostFar = int64_t{4} << 30, kMemoryOfFar = 32;  // bytes of a buffer, whose places floats can count; a part of the memory
constexpr int64_t kGroupsStarted = 1 << 14;
constexpr size_t kFarVisits = 12;         // a round, spread over it, of reading by all units: others come and go within milliseconds
constexpr int kFarSimulated = 8;          // noise of 3 % leaves less than 1 % of the median of two turns

// From one group's chunk to the next: an odd number of blocks, so that those who go in step meet in no sets of their own,
// with room for a place further on.
int64_t apart_of(int64_t chunk) { return chunk + (chunk % 2 == 0 ? 1 : 2); }

// A chunk for each group per sample, side by side, from a block of the buffer on. On simulated devices chunks are as small as the target allows.
Job far_job(const Bench& bench, const StreamPoint& p, int from, int to, const std::shared_ptr<Way>& way, int64_t first = 0) {
  Job job = stream_job(p, from, to, 0.3e-3);
  const int64_t all = far_bytes_of_a_sample(way->blocks() * kBlockBytes) / kBlockBytes;
  const bool several = p.units > 1;
  const int64_t most = std::clamp<int64_t>(all / p.units - (several ? 2 : 0), 1, kFarChunk / kBlockBytes);
  const int64_t step = bench.simulated() ? 1 : most;
  job.parameters = [=, units = p.units](int64_t amount) {
    const int64_t chunk = amount * step;
    const int64_t part = several ? apart_of(chunk) : chunk;
    return pass_parameters(1, chunk, part, first + way->next(part * units), units, several);
  };
  job.work = static_cast<double>(step * kBlockBytes) * p.units * streams(p.access);
  job.most = most / step;
  job.samples = 6;
  job.simulated = kFarSimulated;
  job.settles = false;
  return job;
}

// Both buffers, each for all units at the largest footprint. A point that is there several times is visited as often in each round.
void stream_points(Session& s, const std::string& experiment, const std::vector<StreamPoint>& points,
                   double target_s) {
  if (points.empty()) return;
  int64_t most = 0;
  for (const StreamPoint& p : points) most = std::max(most, p.together ? p.bytes : p.bytes * p.units);
  most += (kLanesApart * s.lanes.back() * 4 / kBlockBytes + 1) * kBlockBytes;  // lanes that lie apart reach into blocks behind,
  most += most / (kBlockBytes / (kRowBytes - kBlockBytes)) + s.device.units * kBlockBytes;  // rows further
  const int from = s.bench.allocate(most + (s.bench.simulated() ? 0 : kReadFrom.back())), to = s.bench.allocate(most + kWrittenFrom.back());
  s.rounds(points.size(), [&](size_t i) { measure_stream(s, experiment, points[i], from, to, target_s); });
}

std::vector<int> one_and_all(int units) { return units > 1 ? std::vector<int>{1, units} : std::vector<int>{1}; }

std::vector<int> unit_counts(int units) {
  std::vector<int> out;
  for (int n = 1; n < units; n = n < 4 ? n + 1 : n + n / 2) out.push_back(n);
  out.push_back(units);
  return out;
}

// Fours and all.
std::vector<int> some_groups(int groups) {
  std::vector<int> out;
  for (int n = 1; n < groups; n *= 4) out.push_back(n);
  out.push_back(groups);
  return out;
}

Job empty_groups(int units, int64_t most) {
  Job job;
  job.kernel = "nothing";
  job.queues = [units](int64_t groups) {
    std::vector<ir::Queue> queues;
    for (int u = 0; u < units; ++u) queues.push_back({u, u * groups, (u + 1) * groups});
    return queues;
  };
  job.most = most;
  return job;
}

// Many steps in one run: what one more step costs, barrier included.
void measure_steps(Session& s, Bench& bench, const char* what) {
  constexpr size_t kSteps = 200;
  const std::vector<runtime::Launch> steps(kSteps, bench.launch(empty_groups(s.device.units, 1), 1));
  Observation o{"launch", what, {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  for (int i = 0; i < 5; ++i)
    bench.sample(o, [&] {
      const std::vector<double> times = bench.run_steps(steps);
      return std::accumulate(times.begin() + 1, times.end(), 0.0) / (kSteps - 1);  // the first one wakes the device
    });
  s.emit(o);
}

// Steps in which all units work for longer than it takes to wake them: what one waits for the last
// unit to begin is the time beyond a step of one unit alone.
void measure_join(Session& s, Bench& bench) {
  constexpr size_t kSteps = 8;
  if (s.device.units < 2) return;
  const Job one = bench.sentinel_job(1, 0.4e-3), all = bench.sentinel_job(s.device.units, 0.4e-3);
  const int64_t amount = bench.amount_for("join", one);
  Observation o{"launch", "join", {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  const auto step_of = [&](const Job& job) {
    const std::vector<double> times = bench.run_steps(std::vector<runtime::Launch>(kSteps, bench.launch(job, amount)));
    return std::accumulate(times.begin() + 1, times.end(), 0.0) / (kSteps - 1);
  };
  for (int i = 0; i < 9; ++i) bench.sample(o, [&] { return step_of(all) - step_of(one); });  // of noise, half are below nothing
  s.emit(o);
}

// The same steps recorded, less a few of them: what one more costs. Why there are none is a fact.
void measure_recorded(Session& s, Bench& bench) {
  constexpr size_t kMany = 200, kFew = 2;
  const std::vector<runtime::Launch> steps(kMany, bench.launch(empty_groups(s.device.units, 1), 1));
  const std::span<const runtime::Launch> many(steps), few = many.first(kFew);
  if (const auto first = bench.run_recorded(many); !first) return s.fact(kUnrecorded, first.diags().front().message);
  Observation o{"launch", "recorded", {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  for (int i = 0; i < 9; ++i)
    bench.sample(o, [&] {
      const auto all = bench.run_recorded(many), some = bench.run_recorded(few);
      if (!all || !some) fail(all ? some.diags() : all.diags());
      return (*all - *some) / static_cast<double>(kMany - kFew);
    });
  s.emit(o);
}

// Launches that a driver is handed one by one.
void measure_handed_over(Session& s) {
  std::vector<ir::Kernel> some;
  for (const ir::Kernel& k : s.kernels)
    if (k.name == "nothing" || k.name == "sentinel") some.push_back(k);
  const auto module = s.one_by_one(some);
  Bench bench(*module, some, s.device);
  measure_steps(s, bench, "step");
  measure_join(s, bench);
  measure_recorded(s, bench);
}

// One launch, waited for, seen from outside.
void measure_eager(Session& s) {
  const runtime::Launch one = s.bench.launch(empty_groups(s.device.units, 1), 1);
  Observation o{"launch", "eager", {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  for (int i = 0; i < 5; ++i)
    s.bench.sample(o, [&] { return s.bench.run_waited_for({&one, 1}); });
  s.emit(o);
}

}  // namespace

void run_access(Session& s) {
  std::vector<StreamPoint> points;
  const int64_t bytes = s.device.simulated && s.device.threads ? kBlockBytes : kNearBytes;  // one of many groups is simulated at a time
  for (const char* access : {"read", "splat", "write", "gather", "scatter"})
    for (const int lanes : s.lanes) points.push_back({access, lanes, s.known.groups, bytes, 0, s.device.threads});
  stream_points(s, "access", points, 0.5e-3);
}

namespace {

// Every group reading all of a large cache would be simulated for minutes. A part is enough, as long as the groups of a unit
// together read more than what it has to itself holds.
int64_t window_of(const Session& s, size_t level, int groups, int64_t bytes) {
  constexpr double kLeavesOwn = 2.5;
  if (!s.device.simulated) return 0;
  const double per_unit = std::max(1.0, groups / s.known.units), own = kLeavesOwn * s.known.levels.knees[level - 1].to;
  const int64_t blocks = bytes / kBlockBytes, least = static_cast<int64_t>(own / per_unit / kBlockBytes) + 1;
  return least * static_cast<int64_t>(std::ceil(per_unit)) < blocks / 2 ? least : 0;  // else they would meet in the unit's own
}

// Where the device deals groups out, a unit's own cache shows when all groups read the same bytes. Of a shared one
// every group has a part, but right behind units' own caches, which together may hold as much: there each group
// reads all of it, from a place of its own on.
std::vector<StreamPoint> points_dealt(const Session& s) {
  std::vector<StreamPoint> points;
  // Where there is no room for as many as there might be, some number of them per unit may leave parts of a unit with
  // more than others: then one that keeps units evenly busy, too.
  const auto add = [&](const char* access, int64_t bytes, size_t level) {
    const int64_t room = bytes / kBlockBytes / (copies(access) ? 2 : 1);
    const int most = s.known.even(static_cast<int>(std::clamp<int64_t>(room, 1, s.known.memory_groups)));
    for (const int parts : {most, s.known.level(most)}) {
      const int64_t each = std::max(bytes / (copies(access) ? 2 : 1) / parts / kBlockBytes * kBlockBytes, kBlockBytes);
      if (parts == most || points.back().units != parts) points.push_back({access, s.known.lanes, parts, each, static_cast<double>(level)});
    }
  };
  // Written by one group each: the groups of a unit share its cache out. A unit has as many of them as the others.
  const auto add_own = [&](const char* access, int64_t bytes, size_t level) {
    const auto units = static_cast<int64_t>(s.known.units);
    const int64_t room = bytes / kBlockBytes / (copies(access) ? 2 : 1), each = std::clamp<int64_t>(s.known.groups / units, 1, std::max<int64_t>(1, room));
    const int64_t part = std::max<int64_t>(1, room / each) * kBlockBytes;
    points.push_back({access, s.known.lanes, static_cast<int>(each * units), part, static_cast<double>(level)});
  };
  for (size_t i = 0; i < s.known.levels.knees.size(); ++i)
    for (const int64_t bytes : footprints_within(s.known.levels, i, 1)) {
      const bool shared = s.known.sharing[i].shared, behind_own = i > 0 && !s.known.sharing[i - 1].shared;
      // No two of them from the same place on.
      const int groups = shared ? s.known.even(static_cast<int>(std::clamp<int64_t>(bytes / kBlockBytes, 1, s.known.groups))) : s.known.groups;
      const auto add_together = [&](int n) {
        points.push_back({"read", s.known.lanes, n, bytes, static_cast<double>(i), true, shared, -1, shared ? window_of(s, i, n, bytes) : 0});
      };
      if (shared && !behind_own) add("read", bytes, i);
      else add_together(groups);
      if (shared && behind_own && s.known.level(groups) != groups) add_together(s.known.level(groups));
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

void run_bandwidth(Session& s) {
  constexpr int kVisitsOfOwn = 3;  // whoever shares a core for a while halves what its own caches give: short looks, some of them without
  if (s.device.threads) return stream_points(s, "bandwidth", points_dealt(s), 1e-3);
  std::vector<StreamPoint> points;
  for (size_t level = 0; level < s.known.levels.knees.size(); ++level)
    for (const int units : one_and_all(s.device.units))
      for (const std::string access : {"read", "write", "copy", "apart_read", "apart_write"}) {
        const bool shared = s.known.sharing[level].shared;
        if (in_runs(access) && (level == 0 || units != (shared ? s.device.units : 1) || s.known.lanes != s.lanes.back())) continue;
        std::vector<int64_t> footprints = footprints_within(s.known.levels, level, shared ? units : 1);
        // Knees that crowd together leave no room between them, but what units share begins where each
        // one's own caches end.
        if (const auto streamed = footprint_streamed(s.known, units); streamed && shared && level + 1 == s.known.levels.knees.size()) footprints = {*streamed};
        if (footprints.empty() && shared)
          if (const auto past = footprint_past_private(s.known, units)) footprints = {*past};
        for (const int64_t bytes : footprints) {
          const int64_t half = std::max<int64_t>(kBlockBytes, bytes / 2 / kBlockBytes * kBlockBytes);
          const int64_t each = copies(access) ? half : bytes;
          const bool looked_at_again = !shared && !in_runs(access) && !s.bench.simulated();
          points.insert(points.end(), looked_at_again ? kVisitsOfOwn : 1, {access, s.known.lanes, units, each, static_cast<double>(level)});
        }
      }
  stream_points(s, "bandwidth", points, 1e-3);
}

// All units, each its own part, from inside the first cache to beyond the last. Simulated devices read the last footprint, which is far
// memory, chunk by chunk: passes over the whole of it would take long. Elsewhere others of the sweep leave its first chunks in the cache.
// What others leave of the last cache, and which dies the units are on, changes within seconds: later sweeps look again at where it ends, and each
// of them, in between, whether the units have one such cache at the time. Behind each footprint a little is read of the buffer's half that only the
// largest ones reach: which of the states that far memory shows it was taken in.
void run_streamed(Session& s) {
  constexpr double kWellWithin = 8;
  constexpr size_t kLooks = 3;
  constexpr double kLeavesNothing = 4;  // times what caches hold: what is read of so much more is in none of them when it is its turn again
  constexpr int kSamplesOfALook = 3;
  if (s.device.threads) return;  // nobody knows which unit a group is on
  std::vector<int64_t> sizes = streamed_footprints(s.known, s.device.units, s.max_bytes);
  std::erase_if(sizes, [&](int64_t bytes) { return static_cast<double>(bytes * s.device.units) < s.known.held / kWellWithin; });
  if (sizes.size() < 2) return;
  const int from = s.bench.allocate(sizes.back() * s.device.units);
  std::vector<StreamPoint> points;
  for (const int64_t bytes : sizes) points.push_back({"read", s.known.lanes, s.device.units, bytes, 0});
  const int64_t whole = sizes.back() * s.device.units, half = whole / 2 / kBlockBytes * kBlockBytes;
  const Job last = far_job(s.bench, points.back(), from, from, std::make_shared<Way>(whole));
  Job beyond = far_job(s.bench, points.back(), from, from, std::make_shared<Way>(half), half / kBlockBytes);
  beyond.samples = kSamplesOfALook;
  const bool shows_state = !s.bench.simulated() && static_cast<double>(half) >= kLeavesNothing * s.known.cached;
  const auto look_beyond = [&] {
    if (shows_state) s.emit(s.bench.measure("streamed", "beyond", {}, beyond));
  };
  const std::optional<Found> found = s.device.units == 2 ? Found::make(s) : std::nullopt;  // of more, two that are near say nothing of the others
  s.rounds(points.size() + (found ? kLooks : 0), [&](size_t i) {
    if (i >= points.size()) {
      for (const bool other : {false, true}) found->look(s, "streamed", other, kSamplesOfALook);
      return look_beyond();
    }
    Conditions at = conditions_of(points[i]);
    at.erase("level");  // which footprints show which level is what the sweep is to tell
    if (s.bench.simulated() && i + 1 == points.size()) return s.emit(s.bench.measure("streamed", "read", at, last));
    const Job job = stream_job(points[i], from, from, 1e-3);
    const runtime::Launch pass = s.bench.launch(job, 1);
    s.warm_up(pass);
    s.emit(s.bench.measure("streamed", "read", at, job));
    look_beyond();
  });
}

// Groups of which each has a few blocks at least.
int most_apart(int64_t total, int groups) { return static_cast<int>(std::clamp<int64_t>(total / (16 * kBlockBytes), 1, groups)); }

// Devices that read in microseconds what lies behind any cache get a longer buffer, and so do those whose last cache takes a good part of
// what a sample writes.
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
  const int64_t outweighs = buffer_for_far_bytes(static_cast<int64_t>(kOutweighs * s.known.cached) / kBlockBytes * kBlockBytes);
  return std::max(total, std::min({std::max(total * times, outweighs), kMostFar, s.device.memory_bytes / kMemoryOfFar / kBlockBytes * kBlockBytes}));
}

// Once through all of a buffer: what has only been filled is two or three times as slow to some guests as what has been read before (docs/probing.md).
void go_through(Session& s, const char* access, int buffer, int64_t bytes) {
  if (s.device.threads || s.bench.simulated()) return;
  const runtime::Launch pass = s.bench.launch(pass_over(s, access, buffer, bytes / s.device.units / kBlockBytes), 1);
  s.bench.run({&pass, 1});
}

// Total footprint fixed, shared out to the units: both buffers together stay within the limit.
void run_far(Session& s) {
  const int64_t beyond = footprint_beyond(s.known, s.max_bytes / 2);
  const int most = s.known.even(most_apart(beyond, std::max(s.known.memory_groups, s.known.resident)));
  const int64_t total = long_enough(s, beyond, most);
  const auto level = static_cast<double>(s.known.levels.knees.size());
  std::vector<StreamPoint> points;
  // Far memory waits longest: as many groups as run side by side.
  const int all = s.device.threads ? s.known.even(most_apart(total, std::max(s.known.memory_groups, s.known.resident))) : s.device.units;
  for (const int units : s.device.threads ? some_groups(all) : unit_counts(all)) {
    const int64_t each = total / units / kBlockBytes * kBlockBytes;
    const auto add = [&](const char* access) { points.push_back({access, s.known.lanes, units, each, level}); };
    add("read");
    if (!s.device.threads || units == all)
      for (const char* access : {"write", "copy"}) add(access);
    if (units == all)
      for (const char* access : {"write_stream", "copy_stream", "triad"}) add(access);
  }
  const int from = s.bench.allocate(total), to = s.bench.allocate(total), other = s.bench.allocate(total);
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
    const bool most_asked_for = points[i].access == "read" && points[i].units == all && !s.bench.simulated();
    visits.insert(visits.end(), most_asked_for ? kFarVisits : 1, i);
  }
  s.rounds(visits.size(), [&](size_t v) {
    const size_t i = visits[v];
    s.emit(s.bench.measure("far", points[i].access, conditions_of(points[i]), jobs[i]));
  });
}

void run_launch(Session& s) {
  const Job groups = empty_groups(1, kGroupsStarted);
  s.rounds(4, [&](size_t i) {
    if (i == 0) measure_steps(s, s.bench, s.device.in_sequence ? "barrier" : "step");
    else if (i == 1) measure_eager(s);
    else if (i == 2) s.emit(s.bench.measure("launch", "group", {}, groups));
    else if (s.device.in_sequence) measure_handed_over(s);
    else {
      measure_join(s, s.bench);
      measure_recorded(s, s.bench);
    }
  });
}

}  // namespace assay::probe
