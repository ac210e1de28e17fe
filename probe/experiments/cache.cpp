// Latency: line size, capacities, private and shared caches, scratchpad.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "probe/experiments/experiments.h"
#include "probe/inference/footprint.h"
#include "probe/inference/sharing_contrast.h"
#include "probe/inference/stats.h"
#include "probe/journal.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr int64_t kSmallest = 8 << 10, kSmallestOfThreads = 1 << 10;
constexpr int64_t kDenseUpTo = 16 << 20;    // four sizes an octave up to here,
constexpr int64_t kSparseFrom = 128 << 20;  // two up to here, one beyond
constexpr int kLargeVisits = 2;             // blocks at each of those: their setup dominates
// Beyond it there is no warm pass: writing the cycle in visiting order replaces it.
constexpr int64_t kWarmUpTo = 32 << 20;

// A pass through less than that takes less time than a neighbour stays away.
constexpr int64_t kShortPass = 1 << 20;

// Multiples of 4 KiB where that is fine enough, else of the line.
int64_t rounded(double bytes, int64_t line) {
  const int64_t unit = bytes >= 256 << 10 ? kPage : line;
  return std::max<int64_t>(unit,
                           static_cast<int64_t>(bytes / static_cast<double>(unit) + 0.5) * unit);
}

std::vector<int64_t> sweep(int64_t least, int64_t line, int64_t most) {
  std::vector<int64_t> out;
  auto bytes = static_cast<double>(least);
  while (bytes < static_cast<double>(most)) {
    out.push_back(rounded(bytes, line));
    bytes *= std::exp2(bytes < kDenseUpTo ? 0.25 : bytes < kSparseFrom ? 0.5 : 1);
  }
  out.push_back(most);
  return out;
}

// Also notes what `unit` visits.
int64_t write_cycle_of(Session& s, const ChaseArea& area, int unit, const Cycle& cycle,
                       std::vector<Fill>& to) {
  std::vector<Extent> blocks;
  const int64_t first = write_cycle(s.bench, area.nodes, cycle, s.random, &blocks);
  for (const Extent& b : blocks) to.push_back({unit, b});
  return first;
}

// `pass`: of the chase, through `bytes` of each unit.
void warm_up(Session& s, const ChaseArea& area, int64_t bytes, const std::vector<Fill>& fills,
             const runtime::Launch& pass) {
  if (bytes > kShortPass && has_neighbours(s.device))
    fill_caches(s, area.nodes, fills);
  else
    s.warm_up(pass);
}

}  // namespace

void chase_block(Session& s, const std::string& experiment, const ChaseArea& area, int64_t bytes) {
  // A transfer larger than a node brings nodes that are visited later in the same block. Where a
  // pass is too long for a sample, samples are whole blocks from the beginning of one.
  const bool whole_blocks = s.device.threads && bytes > kWarmUpTo;
  if (whole_blocks) bytes = bytes / kMostLocalBytes * kMostLocalBytes;
  const Cycle cycle = dense_cycle(bytes, static_cast<int64_t>(s.known.line));
  std::vector<Fill> fills;
  area.start_at(s.bench, 0, write_cycle_of(s, area, 0, cycle, fills));
  Job job = chase_job(area, 1, 0.4e-3);
  if (bytes > kDenseUpTo) job.samples = 8;
  // Late in a block prefetchers have fetched much of it. Beside neighbours, of whom a simulator's
  // short samples see some and not others, the best samples count: so each is of whole blocks.
  if (has_neighbours(s.device)) job.least = std::min(cycle.block, cycle.nodes) / kChaseSteps;
  // Writing the cycle leaves it cached, but lines of an earlier cycle may be cached too. Of a large
  // cycle, part of a pass evicts those.
  const runtime::Launch pass = s.bench.launch(
      job, std::min(cycle.nodes, kWarmUpTo / cycle.stride) / kChaseSteps + (whole_blocks ? 0 : 1));
  if (bytes <= kWarmUpTo)
    warm_up(s, area, bytes, fills, pass);
  else if (s.device.threads)
    s.bench.run({&pass, 1});
  add_warm_lap(s.bench, s.device, job, cycle.nodes);
  s.emit(s.bench.measure(experiment, "chase", {{"bytes", static_cast<double>(bytes)}}, job));
}

namespace {

void chase_points(Session& s, const std::string& experiment, const std::vector<int64_t>& sizes) {
  const ChaseArea area = ChaseArea::make(s.bench, *std::max_element(sizes.begin(), sizes.end()));
  std::vector<int> visits(sizes.size(), 0);
  s.rounds(sizes.size(), [&](size_t i) {
    if (sizes[i] < kSparseFrom || ++visits[i] <= kLargeVisits)
      chase_block(s, experiment, area, sizes[i]);
  });
}

// Footprints around the beginning, middle and end of a knee.
void add_around(const KneePoint& k, int64_t line, std::set<int64_t>& to) {
  const double low = k.from / 1.02, high = k.to * 1.02;
  for (int i = 0; i <= 6; ++i) to.insert(rounded(low * std::pow(high / low, i / 6.0), line));
}

}  // namespace

// Two loads per pair, pairs 512 B from each other. The second costs little while both are in one
// line. 256 KiB of pairs map to an eighth of the sets, so the first load misses L1. First caches of
// GPUs are that large themselves, so they get more pairs.
PairTouches::PairTouches(Session& s)
    : s_(s),
      large_(s.device.threads && s.device.fact("class") == "gpu"),
      pairs_(large_ ? 4096 : 512),
      area_(ChaseArea::make(s.bench, pairs_ * kPairStride)) {}

double PairTouches::measure(const std::string& experiment, size_t i) {
  Cycle cycle;
  cycle.nodes = pairs_;
  cycle.stride = kPairStride;
  cycle.second = kPairDistances[i];
  area_.start_at(s_.bench, 0, write_cycle(s_.bench, area_.nodes, cycle, s_.random));
  const Job job = chase_job(area_, 1, 0.3e-3);
  const runtime::Launch pass = s_.bench.launch(job, 2 * pairs_ / kChaseSteps + 1);
  if (large_) s_.warm_up(pass);
  const Observation o = s_.bench.measure(
      experiment, "pair", {{"distance", static_cast<double>(kPairDistances[i])}}, job);
  s_.emit(o);
  return o.clock_hz.value_or(0);
}

constexpr int kLooksAgain = 8;

void run_line(Session& s) {
  PairTouches touches(s);
  std::vector<double> clocks(kPairDistances.size(), 0);
  const auto look = [&](size_t i) { clocks[i] = std::max(clocks[i], touches.measure("line", i)); };
  s.rounds(clocks.size(), look);
  // Under a lower clock than others a touch takes longer, as one of another line would, and so it
  // does where a neighbour has a part of the caches.
  for (int again = 0; again < kLooksAgain && s.time_left(); ++again)
    for (size_t i = 0; i < clocks.size(); ++i)
      if (has_neighbours(s.device) ||
          clocks[i] < kOneClock * *std::max_element(clocks.begin(), clocks.end()))
        look(i);
}

void run_chase(Session& s) {
  chase_points(s, "chase",
               sweep(s.device.threads ? kSmallestOfThreads : kSmallest,
                     static_cast<int64_t>(s.known.line), s.max_bytes));
}

// Each round infers the knees from all samples so far, then measures more finely around them. The
// last third of the time repeats both sides.
void run_knees(Session& s) {
  const auto line = static_cast<int64_t>(s.known.line);
  Observations all = s.earlier;
  Levels levels = s.known.levels;
  if (levels.knees.empty()) return;
  const auto most = static_cast<int64_t>(levels.knees.back().to * 1.5);
  const ChaseArea area = ChaseArea::make(s.bench, most);
  struct Listener {  // also adds what is sent to `all`, for this experiment only
    Session& s;
    Send send = s.send;
    ~Listener() { s.send = send; }
  } listener{s};
  s.send = [&](const std::string& l) {
    add_line(l, all);
    listener.send(l);
  };
  for (int round = 0; s.wants_round(round); ++round) {
    std::set<int64_t> sizes;
    for (const KneePoint& k : levels.knees) add_around(k, line, sizes);
    std::vector<int64_t> order(sizes.begin(), sizes.end());
    std::shuffle(order.begin(), order.end(), s.random);
    for (const int64_t bytes : order) {
      if (round > 0 && !s.time_left()) return;
      if (bytes <= most) chase_block(s, "knees", area, bytes);
    }
    const Levels renewed = find_levels(latency_curve(all));
    if (renewed.knees.size() == levels.knees.size()) levels = renewed;
  }
}

// Well inside each plateau; for far memory well beyond the last knee.
void run_latency(Session& s) {
  const std::vector<Plateau>& plateaus = s.known.levels.plateaus;
  const auto line = static_cast<int64_t>(s.known.line);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < plateaus.size(); ++i)
    sizes.push_back(i + 1 == plateaus.size() ? footprint_beyond(s.known, s.max_bytes)
                                             : footprint_of_latency(s.known, i));
  if (sizes.empty()) return;
  const ChaseArea area = ChaseArea::make(s.bench, *std::max_element(sizes.begin(), sizes.end()));
  s.rounds(sizes.size(), [&](size_t i) {
    const Cycle cycle = i == 0 ? dense_cycle(sizes[i], line) : sparse_cycle(sizes[i], line);
    std::vector<Fill> fills;
    area.start_at(s.bench, 0, write_cycle_of(s, area, 0, cycle, fills));
    Job job = chase_job(area, 1, 0.4e-3);
    if (i + 1 < sizes.size()) {
      warm_up(s, area, sizes[i], fills, s.bench.launch(job, cycle.nodes / kChaseSteps + 1));
      add_warm_lap(s.bench, s.device, job, cycle.nodes);
    }
    const Conditions at = {{"bytes", static_cast<double>(sizes[i])},
                           {"level", static_cast<double>(i)}};
    s.emit(s.bench.measure("latency", "chase", at, job));
  });
}

// Multiply-adds use no cache. If all units together are slower at them too, threads wait or share a
// core.
void measure_without_cache(Session& s, int units, int out) {
  Job job;
  job.kernel = op_name("fma", s.known.lanes, s.known.chains);
  job.arguments = {{out, 0}};
  job.work = static_cast<double>(s.known.chains);
  job.most = kMaxIterations;
  job.target_s = 0.3e-3;
  for (const int active : {1, units}) {
    job.groups = active;
    s.emit(s.bench.measure("sharing", "control", {{"units", active}}, job));
  }
}

constexpr int kAlone = 3;  // units that are also measured alone, and the last one
// Where lines are missing, since a neighbour, or another unit, has the cache. Not one directly
// after another, which the same neighbour would spoil.
constexpr int kLooksAtSharing = 8;

// If all units together are slower than each of them alone, they share the cache.
void run_sharing(Session& s) {
  const int units =
      s.device.threads
          ? 2
          : std::min<int>(s.device.units, static_cast<int>(kSlots));  // two groups, of two units
  if (units < 2 || s.known.levels.knees.empty()) return;
  const auto line = static_cast<int64_t>(s.known.line);
  std::vector<int64_t> sizes;
  const std::vector<CurvePoint> curve = latency_curve(s.earlier);
  for (size_t i = 0; i < s.known.levels.knees.size(); ++i) {
    const bool declared =
        !declared_cache(s.earlier, i)
             .empty();  // then a small footprint must do, which co-tenants rarely evict
    sizes.push_back(
        rounded(sharing_footprint(s.known.levels.knees[i],
                                  declared ? std::span<const CurvePoint>() : curve, units),
                line));
  }
  const int64_t spacing = (*std::max_element(sizes.begin(), sizes.end()) + kLocalBytes - 1) /
                              kLocalBytes * kLocalBytes +
                          kLocalBytes;
  const ChaseArea area = ChaseArea::make(s.bench, spacing * units);
  const int out = s.bench.allocate(kSlots * kSlotFloats * 4);
  // Alone: the first units and the last. Co-tenants may evict one unit's private lines and not the
  // next one's.
  std::vector<int> alone = {0};
  for (int u = 1; !s.device.threads && u < units; ++u)
    if (u < kAlone || u + 1 == units) alone.push_back(u);
  const size_t points = alone.size() + 1, chases = sizes.size() * points;
  std::vector<bool> settled(chases, false);
  const auto look = [&](size_t i) {
    const int64_t bytes = sizes[i / points];
    const bool all = i % points == alone.size();
    const int active = all ? units : 1, first = all ? 0 : alone[i % points];
    std::vector<Fill> fills;
    for (int u = 0; u < active; ++u) {
      Cycle cycle = dense_cycle(bytes, line);
      cycle.begin =
          spacing *
          // Each unit has the same bytes alone and with others, since physical pages differ.
          (first + u);
      area.start_at(s.bench, u, write_cycle_of(s, area, first + u, cycle, fills));
    }
    Job job = chase_job(area, active, 0.5e-3);
    job.first_unit = first;
    const runtime::Launch pass = s.bench.launch(job, bytes / line / kChaseSteps + 1);
    add_warm_lap(s.bench, s.device, job, bytes / line);
    const Conditions at = {{"bytes", static_cast<double>(bytes)},
                           {"units", active},
                           {"first", first},
                           {"level", static_cast<double>(i / points)}};
    warm_up(s, area, bytes, fills, pass);
    const Observation o = s.bench.measure("sharing", "chase", at, job);
    s.emit(o);
    const double time = quantile(o.samples, 0.5);
    settled[i] = all ? time < kCrowded * alone_time(curve, static_cast<double>(bytes))
                     : time <= longest_of_hits(curve, static_cast<double>(bytes), units);
  };
  s.rounds(chases + 1,
           [&](size_t i) { i < chases ? look(i) : measure_without_cache(s, units, out); });
  if (!s.device.simulated) return;  // there, rounds look again
  for (int again = 1; again < kLooksAtSharing && s.time_left(); ++again)
    for (size_t i = 0; i < chases; ++i)
      if (!settled[i]) look(i);
}

// Only where the driver reports a scratchpad: elsewhere it is an ordinary buffer.
void run_group_memory(Session& s) {
  if (s.device.fact("group_memory").empty()) return;
  const ChaseArea area = ChaseArea::make(s.bench, kGroupBytes);
  Job chase = chase_job(area, 1, 0.4e-3);
  chase.kernel = "group_chase";
  Job read;
  read.kernel = fmt::format("group_read_{}", s.known.lanes);
  read.arguments = {{area.nodes, 0}};
  read.work = kGroupBytes;
  read.most = kMaxIterations;
  const Conditions at = {{"bytes", static_cast<double>(kGroupBytes)}};
  for (Job* job : {&chase, &read}) job->setup_s = s.bench.setup_time(*job);  // filling it
  Job write;
  write.kernel = group_write_name(s.known.lanes);
  write.groups = s.known.groups;
  write.work = static_cast<double>(kGroupBytes) * write.groups;
  write.most = kMaxIterations;
  write.target_s = 0.4e-3;
  s.rounds(s.bench.has(write.kernel) ? 3 : 2, [&](size_t i) {
    if (i == 1) return s.emit(s.bench.measure("group_memory", "read", at, read));
    if (i == 2)
      return s.emit(s.bench.measure("group_memory", "write",
                                    {{"lanes", s.known.lanes}, {"units", write.groups}}, write));
    const Cycle cycle = dense_cycle(kGroupBytes, static_cast<int64_t>(s.known.line));
    area.start_at(s.bench, 0, write_cycle(s.bench, area.nodes, cycle, s.random));
    s.emit(s.bench.measure("group_memory", "chase", at, chase));
  });
}

}  // namespace assay::probe
