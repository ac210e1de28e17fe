// Experiments on arithmetic: throughput, latency, clocks, units.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "probe/experiments/experiments.h"
#include "probe/inference/stats.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"

namespace assay::probe {
namespace {

// `units` groups at a time. Where the device schedules groups, a sample is divided by the steps of
// all of them.
Job chains_job(const Session& s, const std::string& op, int lanes, int chains, int out, int units) {
  Job job;
  job.kernel = op_name(op, lanes, chains);
  job.arguments = {{out, 0}};
  job.groups = units;
  job.work = op_steps(op, chains, s.device.threads) * (s.device.threads ? units : 1);
  job.most = kMaxIterations;
  job.target_s = 0.8e-3;
  return job;
}

constexpr int kMostGroups = 1 << 14;  // waves at a time: the largest GPUs hold some 9000

int output(Session& s) {
  return s.bench.allocate(std::max<int64_t>(kSlots, kMostGroups) * kSlotFloats * 4);
}

// `op_fma` adds 1 per step: the accumulator counts the executed steps.
void check_fma(Session& s, int lanes, int chains, int out) {
  const Job job = chains_job(s, "fma", lanes, chains, out, 1);
  constexpr int64_t kIterations = 1000;
  const runtime::Launch l = s.bench.launch(job, kIterations);
  s.bench.run({&l, 1});
  std::vector<float> result(static_cast<size_t>(lanes));
  s.bench.module().read({out, 0}, std::as_writable_bytes(std::span<float>(result)));
  const double expected =
      static_cast<double>(kIterations) * op_steps("fma", chains, s.device.threads) / chains;
  for (const float r : result)
    if (static_cast<double>(r) != expected)
      fail({error(fmt::format("{} executed {} steps of {}", job.kernel, r, expected))});
}

// Following the pointers on the host must end where the kernel ended.
void check_chase(Session& s) {
  constexpr int64_t kNodes = 512, kIterations = 100;
  std::vector<int64_t> next(kNodes * 8, 0);
  const ChaseArea area = ChaseArea::make(s.bench, kNodes * 64);
  int64_t at = write_cycle(s.bench, area.nodes, dense_cycle(kNodes * 64, 64), s.random);
  area.start_at(s.bench, 0, at);
  const runtime::Launch l = s.bench.launch(chase_job(area, 1, 1e-3), kIterations);
  s.bench.run({&l, 1});
  s.bench.module().read({area.nodes, 0}, std::as_writable_bytes(std::span<int64_t>(next)));
  for (int64_t i = 0; i < kIterations * kChaseSteps; ++i) at = next.at(static_cast<size_t>(at));
  int64_t reached = -1;
  s.bench.module().read({area.state, 0}, std::as_writable_bytes(std::span<int64_t>(&reached, 1)));
  if (reached != at) fail({error(fmt::format("the chase ended at {}, expected {}", reached, at))});
}

struct ChainPoint {
  std::string op;
  int lanes, chains;
  int groups = 1;
};

void run_chain_points(Session& s, const std::string& experiment,
                      const std::vector<ChainPoint>& points) {
  const int out = output(s);
  s.rounds(points.size(), [&](size_t i) {
    const ChainPoint& p = points[i];
    const Job job = chains_job(s, p.op, p.lanes, p.chains, out, p.groups);
    Conditions at = {{"lanes", p.lanes}, {"chains", p.chains}};
    if (s.device.threads) at["groups"] = p.groups;
    s.emit(s.bench.measure(experiment, p.op, at, job));
  });
}

constexpr double kTwoRounds = 1.5;
constexpr double kNearBest = 1.03;
constexpr int kEven = 4;
// Times as many groups are tried: the last round of groups may be nearly empty.
constexpr int kFurther = 8;

constexpr int64_t kTickBytes = 16 << 10;  // for four lanes; in proportion for more

int64_t tick_bytes(const Session& s) { return kTickBytes / 4 * s.lanes.back(); }

Job tick_job(const std::string& load, int lanes, int data, int units, double target_s) {
  Job job;
  job.kernel = tick_name(load, lanes);
  job.arguments = {{data, 0}};
  job.groups = units;
  job.work = kTickSteps;
  job.most = kMaxIterations;
  job.target_s = target_s;
  return job;
}

}  // namespace

// Some drivers end long loops early. Finds the longest that ran all its iterations, up to as many
// as the probe needs.
void check_loops(Session& s, int out) {
  const int lanes = s.lanes.front(), chains = kFmaChains.back();
  const double steps = static_cast<double>(op_steps("fma", chains, s.device.threads)) / chains;
  const auto ran = [&](int64_t iterations) {
    const Job job = chains_job(s, "fma", lanes, chains, out, 1);
    const runtime::Launch l = s.bench.launch(job, iterations);
    std::vector<float> result(1);
    try {
      s.bench.run({&l, 1});
    } catch (const std::runtime_error&) {  // the device reported it
      return false;
    }
    s.bench.module().read({out, 0}, std::as_writable_bytes(std::span<float>(result)));
    return static_cast<double>(result[0]) == static_cast<double>(iterations) * steps;
  };
  const auto runs = [&](int64_t iterations) {
    return ran(iterations) || ran(iterations);
  };  // one failure may be by chance
  constexpr int64_t kEnough =
      150'000;  // times the steps of an iteration: still a whole number in f32
  if (runs(kEnough)) return;
  int64_t good = 0, bad = kEnough;
  while (bad - good > 1) (runs((good + bad) / 2) ? good : bad) = (good + bad) / 2;
  if (good == 0) fail({error("the device runs no loop to its end")});
  s.fact("loop_limit", std::to_string(good));
  s.bench.limit_loops(good);
}

void run_checks(Session& s) {
  const int out = output(s);
  check_loops(s, out);
  check_times(s);
  for (const int lanes : s.lanes)
    for (const int chains : kFmaChains) check_fma(s, lanes, chains, out);
  check_chase(s);
}

void run_clock(Session& s) {
  const Job job = s.bench.sentinel_job(1, 50e-6);
  const int data = s.bench.allocate(tick_bytes(s));
  s.rounds(2 + kTickLoads.size() * s.lanes.size(), [&](size_t i) {
    if (i < 2) return s.emit(s.bench.measure("clock", "sentinel", {}, job));
    const int lanes = s.lanes[(i - 2) / kTickLoads.size()];
    const std::string load = kTickLoads[(i - 2) % kTickLoads.size()];
    s.emit(
        s.bench.measure("clock", load, {{"lanes", lanes}}, tick_job(load, lanes, data, 1, 1e-3)));
  });
}

void run_fma(Session& s) {
  std::vector<ChainPoint> points;
  for (const int lanes : s.lanes)
    for (const int chains : kFmaChains) {
      points.push_back({"fma", lanes, chains});
      Observation o{"fma", "stack", {{"lanes", lanes}, {"chains", chains}}, "B", {}, {}, 0, {}};
      const int64_t bytes = s.bench.stack_bytes(op_name("fma", lanes, chains));
      if (bytes >= 0) o.samples.push_back(static_cast<double>(bytes));
      if (!o.samples.empty()) s.emit(o);
    }
  run_chain_points(s, "fma", points);
}

void run_operations(Session& s) {
  std::vector<ChainPoint> points;
  for (const std::string& op : op_names())
    for (const int chains : kOpChains)
      points.push_back({op, s.known.lanes, chains, chains == 1 ? 1 : s.known.groups});
  for (const char* op : kCompound)
    for (const int lanes : s.lanes)
      if (!s.device.threads && lanes != s.known.lanes)
        points.push_back({op, lanes, kOpChains.back()});
  for (const char* pair : kOverlapPairs)
    points.push_back({pair, s.known.lanes, kPairChains, s.known.groups});
  run_chain_points(s, "operations", points);
}

void run_mixes(Session& s) {
  const int64_t bytes = s.device.simulated && s.device.threads ? kBlockBytes : 16 << 10;
  const int data = s.bench.allocate(64 << 10);
  s.rounds(kMixes.size(), [&](size_t i) {
    Job job;
    job.kernel = fmt::format("mix_{}", kMixes[i].name);
    job.arguments = {{data, 0}};
    job.parameters = [bytes](int64_t passes) {
      return std::vector<double>{static_cast<double>(passes),
                                 static_cast<double>(bytes / kBlockBytes)};
    };
    job.groups = s.known.groups;
    job.work = static_cast<double>(bytes / kBlockBytes) * kMixRounds * s.known.groups *
               (kMixes[i].loads + kMixes[i].fmas + kMixes[i].integers);
    job.most = kMaxPasses;
    if (s.device.threads) job.setup_s = s.bench.setup_time(job);
    s.emit(s.bench.measure("mixes", kMixes[i].name, {}, job));
  });
}

// An increasing number of concurrent groups: where the rate stops growing, all units are saturated.
void run_waves(Session& s) {
  if (!s.device.threads) return;
  const int out = output(s);
  const auto time_of = [&](int groups) {
    const Job job = chains_job(s, "fma", s.known.lanes, s.known.chains, out, groups);
    const Conditions at = {
        {"lanes", s.known.lanes}, {"chains", s.known.chains}, {"groups", groups}};
    const Observation o = s.bench.measure("waves", "fma", at, job);
    s.emit(o);
    return quantile(o.samples, 0.5);
  };
  std::vector<int> tried;
  std::vector<double> times;
  int enough = 1;  // groups whose rate is near the best so far
  for (int base = 1; base <= kMostGroups && base <= kFurther * enough; base *= 2)
    for (const int groups : {base, base + base / 2}) {  // some units hold an odd number of waves
      if (groups > kMostGroups || (!tried.empty() && groups == tried.back())) continue;
      tried.push_back(groups);
      times.push_back(time_of(groups));
      const double best = *std::min_element(times.begin(), times.end());
      enough = tried[static_cast<size_t>(
          std::find_if(times.begin(), times.end(), [&](double t) { return t < kNearBest * best; }) -
          times.begin())];
    }
  // Multiples of the units as well, so that the last round is full.
  const int units = static_cast<int>(s.known.units);
  for (int groups = units; groups <= std::min(kMostGroups, kEven * enough); groups *= 2)
    if (std::find(tried.begin(), tried.end(), groups) == tried.end()) tried.push_back(groups);
  std::erase_if(tried, [&](int groups) { return groups < enough; });
  s.rounds(tried.size(), [&](size_t i) { time_of(tried[i]); });
}

namespace {

// Groups that fill a unit each: with one more than units, some unit runs two.
void run_alone(Session& s) {
  if (std::none_of(s.kernels.begin(), s.kernels.end(),
                   [](const ir::Kernel& k) { return k.name == "alone"; }))
    return;
  const int out = output(s);
  const auto time_of = [&](int groups) {
    Job job;
    job.kernel = "alone";
    job.arguments = {{out, 0}};
    job.groups = groups;
    job.work = kSentinelSteps;
    job.most = kMaxIterations;
    const Observation o = s.bench.measure("units", "alone", {{"groups", groups}}, job);
    s.emit(o);
    const double least = *std::min_element(o.samples.begin(), o.samples.end());
    // In ticks of the clock beside it, which may change between two numbers of groups.
    return s.device.fact("class") == "gpu" ? least * o.clock_hz.value_or(1) : least;
  };
  const double one = time_of(1);
  int fits = 1, over = 2;
  while (over <= kMostGroups && time_of(over) < kTwoRounds * one)
    fits = std::exchange(over, over * 2);
  while (over - fits > 1) {
    const int middle = (fits + over) / 2;
    (time_of(middle) < kTwoRounds * one ? fits : over) = middle;
  }
  s.rounds(2, [&](size_t i) { time_of(i == 0 ? fits : over); });
}

}  // namespace

void run_units(Session& s) {
  if (s.device.threads) return run_alone(s);
  const std::vector<int> counts = counts_up_to(s.device.units, [](int n) { return 2 * n; });
  const int out = output(s);
  s.rounds(counts.size(), [&](size_t i) {
    Job job = chains_job(s, "fma", s.known.lanes, s.known.chains, out, counts[i]);
    job.samples = 5;
    s.emit(s.bench.measure("units", "fma", {{"units", counts[i]}}, job));
  });
}

// All units at once, for longer.
void run_sustained(Session& s) {
  const int data = s.bench.allocate(tick_bytes(s));
  const Job job = tick_job("fma", s.known.lanes, data, s.device.units, 1e-3);
  const Conditions at = {{"lanes", s.known.lanes}, {"units", s.device.units}};
  s.rounds(1, [&](size_t) { s.emit(s.bench.measure("sustained", "fma", at, job)); });
}

}  // namespace assay::probe
