#include "probe/sampling/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "probe/inference/stats.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "support/diag.h"

namespace assay::probe {
namespace {

constexpr double kWindow = 0.2;
constexpr double kSentinelSample = 40e-6;  // short: fits between two interrupts
constexpr size_t kSentinelRuns = 3;
constexpr const char* kSentinelKey = "sentinel";
// A warm-up of this part of a job, where the beginning of a run differs.
constexpr int64_t kWarmUpPart = 8;
// Of a sample's intended length (chosen): below it the clock rose, which is no disturbance.
constexpr double kLeastOfWanted = 0.5;
constexpr int kOverheadRuns = 20, kSetupRuns = 9;
// Simulated samples need no length: clocks are exact, and noise is drawn once a launch. So slow
// simulations take many short samples. Their number depends on the simulated work, not on our
// clock: a seed gives the same samples on every machine.
constexpr double kSimulatedShorter = 10;
constexpr int kMostSimulated = 24;
constexpr int64_t kLittleWork = 1'000'000, kMuchWork = 400'000;  // operations
constexpr int kMaxRepeats = 3;                                   // of a doubtful sample
constexpr double kEnough = 0.7;     // of the intended length of a sample
constexpr double kOverheads = 10;   // a sample takes at least that many times the launch overhead,
constexpr double kShortest = 1e-9;  // and never nothing

constexpr int64_t kParameterBytes = 4 << 20, kParameterStep = 64;

// Parameters are floats.
int64_t in_float(double amount) { return static_cast<int64_t>(static_cast<float>(amount)); }

double read_wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string key_of(const std::string& what, const Conditions& at, const Job& job) {
  std::string key = job.kernel + "|" + what;
  for (const auto& [name, value] : at) key += "|" + name + "=" + std::to_string(value);
  return key;
}

}  // namespace

void fail(const Diags& diags) { throw std::runtime_error(render(diags)); }

namespace {

// Leaves out samples at a lower clock than the block's, which is the fastest beside any of them.
void drop_slower(Observation& o, const std::vector<double>& beside, double longest) {
  size_t kept = 0;
  for (size_t i = 0; i < beside.size(); ++i) {
    if (beside[i] > longest) continue;
    o.samples[kept] = o.samples[i];
    if (i < o.disturbed.size()) o.disturbed[kept] = o.disturbed[i];
    ++kept;
  }
  o.samples.resize(kept);
  o.disturbed.resize(std::min(o.disturbed.size(), kept));
}

int64_t largest_buffer_of(const runtime::DeviceInfo& device) {
  const int64_t memory =
      device.memory_bytes > 0 ? device.memory_bytes : std::numeric_limits<int64_t>::max();
  const std::string said = device.fact("largest_buffer");
  return said.empty() ? memory : std::min<int64_t>(memory, std::strtoll(said.c_str(), nullptr, 10));
}

}  // namespace

Bench::Bench(runtime::Module& module, const std::vector<ir::Kernel>& kernels,
             const runtime::DeviceInfo& device)
    : module_(module),
      threads_(device.threads),
      simulated_(device.simulated),
      visited_(!device.fact("neighbours").empty()),
      host_(device.fact("class") != "gpu"),
      helper_dispatches_(device.in_sequence && host_ && !simulated_),
      largest_(largest_buffer_of(device)),
      foreign_(host_ ? 1 : 0) {
  for (size_t i = 0; i < kernels.size(); ++i) kernels_[kernels[i].name] = static_cast<int>(i);
  window_start_ = read_cpu_times();
  if (threads_) measure_overhead();
}

// The time of an empty launch. Where the host's threads are the units it is zero.
void Bench::measure_overhead() {
  Job empty;
  empty.kernel = "nothing";
  empty.queues = [](int64_t) { return std::vector<ir::Queue>{{0, 0, 1}}; };
  const runtime::Launch l = launch(empty, 1);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kOverheadRuns; ++i) least = std::min(least, run({&l, 1}).at(0));
  overhead_ = least;
}

int Bench::kernel(const std::string& name) const {
  const auto it = kernels_.find(name);
  if (it == kernels_.end()) fail({error("there is no kernel " + name)});
  return it->second;
}

int64_t Bench::stack_bytes(const std::string& name) const {
  for (const runtime::KernelReport& r : module_.reports())
    if (r.kernel == name) return r.stack_bytes;
  return -1;
}

int64_t Bench::code_bytes(const std::string& name) const {
  for (const runtime::KernelReport& r : module_.reports())
    if (r.kernel == name) return r.code_bytes;
  return 0;
}

int64_t Bench::registers(const std::string& name) const {
  for (const runtime::KernelReport& r : module_.reports())
    if (r.kernel == name) return r.registers;
  return -1;
}

int Bench::allocate(int64_t bytes) {
  if (bytes > largest_)
    fail({error(
        fmt::format("a buffer of {} bytes is needed, and the device allows {}", bytes, largest_))});
  const Result<int> buffer = module_.allocate(bytes);
  if (!buffer) fail(buffer.diags());
  return *buffer;
}

// Written once. When the buffer is full it begins anew, since a launch runs directly after it is
// made.
runtime::BufferRange Bench::place(const std::vector<double>& parameters) {
  if (parameters_ < 0) parameters_ = allocate(kParameterBytes);
  const auto found = placed_.find(parameters);
  if (found != placed_.end()) return {parameters_, found->second};
  const std::vector<float> values(parameters.begin(), parameters.end());
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(float));
  if (parameters_end_ + std::max(bytes, kParameterStep) > kParameterBytes) {
    placed_.clear();
    parameters_end_ = 0;
  }
  const runtime::BufferRange at{parameters_, parameters_end_};
  module_.write(at, std::as_bytes(std::span(values)));
  placed_[parameters] = at.offset;
  parameters_end_ += (bytes + kParameterStep - 1) / kParameterStep * kParameterStep;
  return at;
}

runtime::Launch Bench::launch(const Job& job, int64_t amount) {
  if (job.queues) return {kernel(job.kernel), job.arguments, job.queues(amount)};
  runtime::Launch l{kernel(job.kernel), job.arguments, {}};
  l.arguments.push_back(place(job.parameters ? job.parameters(amount)
                                             : std::vector<double>{static_cast<double>(amount)}));
  if (threads_)
    l.queues.push_back({0, 0, job.groups});
  else
    for (int u = 0; u < job.groups; ++u) l.queues.push_back({job.first_unit + u, u, u + 1});
  return l;
}

runtime::RunTimes Bench::run_once(std::span<const runtime::Launch> launches,
                                  const runtime::RunOptions& options) {
  const double start = read_wall();
  Result<runtime::RunTimes> times = module_.run(launches, options);
  const double outside = read_wall() - start;
  if (!times) fail(times.diags());
  // A simulated total counts steps.
  const std::vector<double>& said = simulated_ ? times->steps.at(0) : times->busy.at(0);
  clocks_ = {std::accumulate(said.begin(), said.end(), 0.0),
             simulated_ ? times->total.at(0) : outside, static_cast<int>(launches.size()),
             simulated_};
  worst_ = std::max(worst_, belief_in(clocks_));
  executed_ += times->executed;
  return std::move(times).value();
}

Result<double> Bench::run_recorded(std::span<const runtime::Launch> launches) {
  runtime::RunOptions options;
  options.warm_up = 1;
  options.recorded = true;
  const auto times = module_.run(launches, options);
  if (!times) return times.diags();
  clocks_ = {times->total.at(0), times->total.at(0), 1,
             true};  // there is no other clock to compare
  return times->total.at(0);
}

double Bench::run_waited_for(std::span<const runtime::Launch> launches) {
  const double started = read_wall();
  const double total = run_once(launches).total.at(0);
  return simulated_ ? total : read_wall() - started;
}

std::vector<double> Bench::run(std::span<const runtime::Launch> launches) {
  std::vector<double> seconds = run_once(launches).busy.at(0);
  for (double& s : seconds) s = std::max(s - overhead_, kShortest);
  return seconds;
}

double Bench::setup_time(const Job& job) {
  const runtime::Launch none = launch(job, 0);
  std::vector<double> times;
  for (int i = 0; i < kSetupRuns; ++i) times.push_back(run({&none, 1}).at(0));
  return quantile(std::move(times), 0.5);
}

std::vector<double> Bench::run_steps(std::span<const runtime::Launch> launches) {
  return run_once(launches).steps.at(0);
}

std::vector<double> Bench::run_phases(std::span<const runtime::Launch> launches, size_t together) {
  std::vector<std::vector<int>> phases;
  for (size_t l = 0; l < launches.size(); ++l) {
    if (l % together == 0) phases.emplace_back();
    phases.back().push_back(static_cast<int>(l));
  }
  runtime::RunOptions options;
  options.phases = phases;
  return run_once(launches, options).steps.at(0);
}

double Bench::target_of(const Job& job) const {
  const double wanted =
      simulated_ && (threads_ || !job.settles) ? job.target_s / kSimulatedShorter : job.target_s;
  return std::max(wanted, kOverheads * overhead_) + kOverheads * job.setup_s;
}

int64_t Bench::amount_for(const std::string& key, const Job& job) {
  if (const auto it = amounts_.find(key); it != amounts_.end()) return it->second;
  const double target = target_of(job);
  const int64_t most = most_of(job);
  int64_t amount = std::clamp<int64_t>(job.least, 1, std::max<int64_t>(1, most));
  for (int tries = 0; tries < 40 && amount < most; ++tries) {
    const runtime::Launch l = launch(job, amount);
    const int64_t executed = executed_;
    double t = run({&l, 1}).at(0);
    if (!simulated_)
      t = std::min(t, run({&l, 1}).at(0));  // an interrupted run would make samples too short
    if (t >= kEnough * target) break;
    const double affordable = static_cast<double>(kMuchWork) /
                              static_cast<double>(std::max<int64_t>(1, executed_ - executed));
    if (simulated_ && affordable < 1.5) break;
    double most_at_once = t < 20e-6 ? 16.0 : 200.0;
    if (simulated_) most_at_once = std::min(most_at_once, affordable);
    const double factor = std::clamp(target / std::max(t, 1e-9), 1.3, most_at_once);
    amount = std::min(most, in_float(std::ceil(static_cast<double>(amount) * factor)));
  }
  return amounts_[key] = amount;
}

Job Bench::sentinel_job(int units, double target_s) const {
  Job job;
  job.kernel = "sentinel";
  job.groups = units;
  job.work = kSentinelSteps;
  job.most = kMaxIterations;
  job.target_s = target_s;
  return job;
}

void Bench::update_foreign() {
  if (!host_) return;
  const CpuTimes now = read_cpu_times();
  if (now.wall - window_start_.wall < kWindow) return;
  foreign_ = co_tenant_share(window_start_, now);
  window_start_ = now;
}

// Still doubtful after all repeats: the host is busy, and the whole sample counts as disturbed.
double Bench::trusted_sample(const std::function<double()>& run, double& waiting) {
  for (int again = 0;; ++again) {
    const CpuTimes before = simulated_ ? CpuTimes{} : read_cpu_times();
    worst_ = Belief::good;
    const double out = run();
    waiting = simulated_ ? 0 : worst_ == Belief::good ? kept_waiting(before, read_cpu_times()) : 1;
    if (worst_ == Belief::good || (again == kMaxRepeats && worst_ == Belief::doubtful)) return out;
    if (again == kMaxRepeats) fail({error(kNoTrust + (": " + text_of(clocks_)))});
    ++repeated_samples_;
  }
}

void Bench::sample(Observation& o, const std::function<double()>& run) {
  double waiting = 0;
  o.samples.push_back(trusted_sample(run, waiting));
  ++samples_;
  if (simulated_) {
    o.foreign = visited_ ? 0 : kNobody;
    return;
  }
  o.disturbed.push_back(waiting);
  update_foreign();
  o.foreign = std::max(o.foreign, foreign_);
}

// A block is repeated once if its amounts were calibrated while others used the processor. A sample
// of half the intended length or less is too short compared with its launch.
Observation Bench::measure(const std::string& experiment, const std::string& what,
                           const Conditions& at, const Job& job) {
  Observation o{experiment, what, at, "s", {}, {}, 0, {}};
  const std::string key = key_of(what, at, job);
  if (take_block(o, key, job) || simulated_) return o;
  o = {experiment, what, at, "s", {}, {}, 0, {}};
  take_block(o, key, job);
  return o;
}

bool Bench::take_block(Observation& o, const std::string& key, const Job& job) {
  const int64_t amount = amount_for(key, job);
  const Job tick = sentinel_job(1, kSentinelSample);
  const int64_t ticks = amount_for(kSentinelKey, tick);
  const size_t here = helper_dispatches_ ? 1 : 0;
  std::vector<runtime::Launch> list(here + 1 + kSentinelRuns, launch(tick, ticks));
  std::vector<double> sentinels;
  double least = std::numeric_limits<double>::infinity();
  const int64_t executed = executed_;
  int64_t last = -1;
  const auto more = [&](int i) {
    const bool remembered = std::exchange(last, executed_) == executed_;  // a memoised sample
    if (i < (simulated_ ? job.simulated : job.samples)) return true;
    return simulated_ && i < kMostSimulated && (remembered || executed_ - executed < kLittleWork);
  };
  std::vector<double> beside;  // the fastest of each sample's own sentinels
  for (int i = 0; more(i); ++i) {
    double tick_beside = 0;
    sample(o, [&] {
      if (helper_dispatches_) list[0] = launch(job, std::max<int64_t>(1, amount / kWarmUpPart));
      list[here] = launch(job, amount);  // each time: a job may advance through its buffer
      const std::vector<double> times = run(list);
      least = std::min(least, times[here]);
      sentinels.insert(sentinels.end(), times.end() - kSentinelRuns, times.end());
      tick_beside = *std::min_element(times.end() - kSentinelRuns, times.end());
      return std::max(times[here] - job.setup_s, kShortest) /
             (static_cast<double>(amount) * job.work);
    });
    beside.push_back(tick_beside);
  }
  const double least_tick = *std::min_element(sentinels.begin(), sentinels.end());
  // Disturbance only slows a core's own queue down; a device's timestamps deviate both ways, and a
  // simulated chip without neighbours.
  const bool both_ways = threads_ || (simulated_ && !visited_);
  const double tick_time =
      both_ways ? quantile(std::move(sentinels), 0.5) : of_one_clock(std::move(sentinels));
  o.clock_hz = static_cast<double>(ticks) * tick.work / tick_time;
  if (!both_ways) drop_slower(o, beside, tick_time / kOneClock);
  const bool long_enough = amount >= most_of(job) || least >= kLeastOfWanted * target_of(job);
  const bool ticks_enough =
      ticks >= most_of(tick) || least_tick >= kLeastOfWanted * target_of(tick);
  if (!long_enough) amounts_.erase(key);
  if (!ticks_enough) amounts_.erase(kSentinelKey);
  return long_enough && ticks_enough;
}

}  // namespace assay::probe
