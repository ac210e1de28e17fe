// Runs of launches on a simulated chip: one by one, in phases, by a schedule.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/launch.h"
#include "runtime/schedule.h"
#include "runtime/virtual/launcher.h"
#include "runtime/virtual/module.h"
#include "runtime/virtual/phase_run.h"
#include "runtime/virtual/queue_run.h"
#include "runtime/virtual/residency.h"

namespace assay::runtime::simulated {
namespace {

constexpr double kLie = 1.0 / 16;  // share of the time that it reports

std::vector<std::vector<int>> phases_of(size_t launches, const RunOptions& options) {
  if (!options.phases.empty()) return {options.phases.begin(), options.phases.end()};
  std::vector<std::vector<int>> out;
  for (size_t l = 0; l < launches; ++l) out.push_back({static_cast<int>(l)});
  return out;
}

// An addition by the last group of a unit, and a look by the others, where units share memory.
double meeting_of(const Chip& chip, double hz) {
  const auto shared =
      std::ranges::find_if(chip.levels, [](const Level& l) { return !l.unit_wide; });
  return chip.atomic.latency.at(hz) + (shared == chip.levels.end() ? 0 : shared->latency.at(hz));
}

}  // namespace

double VirtualModule::clock() const {
  const Effects& e = on_->effects;
  double part = 1;
  if (e.ramp_over > 0 && on_->worked < e.ramp_over)
    part = e.ramp_from + (1 - e.ramp_from) * on_->worked / e.ramp_over;
  if (e.throttle_after > 0 && on_->worked >= e.throttle_after) part = std::min(part, e.throttle_to);
  if (disturbed_) part *= e.neighbour.clock;
  return on_->chip.clock * part;
}

bool VirtualModule::is_disturbed() const {
  const Neighbour& n = on_->effects.neighbour;
  return n.comes() && std::fmod(on_->worked, n.every) < n.lasts;
}

// Who comes or leaves evicts all lines.
void VirtualModule::follow_neighbour() {
  if (is_disturbed() == disturbed_) return;
  disturbed_ = !disturbed_;
  state().hierarchy = std::make_unique<Hierarchy>(state().chip, on_->effects);
  memo_.clear();
}

bool VirtualModule::fails_now(int64_t run) {
  const Fault& f = on_->effects.fault;
  if (f.kind == FaultKind::none) return false;
  return f.at < 1 ? noise_.uniform() < f.at : static_cast<double>(run) == f.at;
}

std::vector<Crossing> VirtualModule::crossings(std::span<const Hierarchy::Bytes> bytes) const {
  const std::vector<Level>& levels = state().chip.levels;
  std::vector<Crossing> out;
  for (size_t k = 0; k < bytes.size(); ++k)
    out.push_back({levels[k].name + "<-" + levels[k + 1].name, bytes[k].read, bytes[k].written});
  return out;
}

Job VirtualModule::job_of(const Launch& launch) {
  const auto number = static_cast<size_t>(launch.kernel);
  const ir::Kernel& kernel = kernels_[number];
  Job out{&state().codes[number], {}, ranges_of(launch, kernel.groups)};
  size_t argument = 0;
  for (const ir::Buffer& b : kernel.buffers) {
    if (b.scope != ir::Scope::global) continue;
    const BufferRange& r = launch.arguments[argument++];
    const int64_t bytes = storage_.bytes_of(r.buffer) - r.offset;
    out.arguments.push_back({storage_.data(r.buffer) + r.offset,
                             bytes / (b.texel * ir::bytes_of(b.dtype)),
                             storage_.address_of(r.buffer) + r.offset});
  }
  return out;
}

// Time begins at 0, with so many active units.
Machine VirtualModule::start(double hz, int active) {
  State& now = state();
  const Chip& chip = now.chip;
  now.hierarchy->begin(hz, active);
  paths_.begin(hz);
  const Level& near = chip.levels.front();
  Machine machine{chip, *now.hierarchy, products_, hz};
  if (near.unit_wide) {
    machine.near_read = 1 / near.read.at(hz);
    machine.near_write = 1 / near.write.at(hz);
  }
  if (chip.scratch.exists) {
    machine.own_read = 1 / chip.scratch.read.at(hz);
    machine.own_write = 1 / chip.scratch.write.at(hz);
    machine.own_latency = chip.scratch.latency.at(hz);
  }
  machine.atomic_interval = chip.atomic.interval;
  machine.atomic_latency = chip.atomic.latency.at(hz);
  machine.own_atomic_interval = chip.own_atomic.interval;
  machine.own_atomic_latency = chip.own_atomic.latency.at(hz);
  machine.group_start = chip.group_start * hz;
  machine.streams = active;
  machine.paths = &paths_;
  return machine;
}

Result<LaunchMemo::Took> VirtualModule::busy(const Launch& launch, double hz, int64_t& executed) {
  if (auto known = memo_.look_up(launch, hz)) return std::move(*known);
  const Chip& chip = state().chip;
  const Job job = job_of(launch);
  const int64_t groups = kernels_[static_cast<size_t>(launch.kernel)].groups;
  Machine machine = start(hz, active_units(chip, launch, groups));
  const Outcome outcome = simulate(machine, job, launch, groups, chip.wakeup_skew * hz);
  if (!outcome.fault.empty()) return error(outcome.fault);
  executed += outcome.executed;
  LaunchMemo::Took took{outcome.ticks, crossings(state().hierarchy->moved())};
  memo_.note(launch, *job.code, hz, took);
  return took;
}

Result<double> VirtualModule::run_phase(const Call& call, const std::vector<int>& phase, double hz,
                                        Repeat& to) {
  const auto launch = [&](int l) -> const Launch& { return call.launches[static_cast<size_t>(l)]; };
  if (phase.size() == 1) {
    auto took = busy(launch(phase.front()), hz, to.executed);
    if (!took) return took.diags();
    to.moved[static_cast<size_t>(phase.front())] = std::move(took->moved);
    return took->ticks;
  }
  const Chip& chip = state().chip;
  std::vector<Job> jobs;
  int64_t groups = 0;
  for (const int l : phase) groups += jobs.emplace_back(job_of(launch(l))).groups();
  memo_.clear();
  Machine machine = start(hz, static_cast<int>(std::clamp<int64_t>(groups, 1, chip.units)));
  const Outcome outcome = simulate_phase(machine, jobs, merges_, chip.beside_launch * hz);
  if (!outcome.fault.empty()) return error(outcome.fault);
  to.executed += outcome.executed;
  for (size_t i = 0; i < phase.size(); ++i)
    to.moved[static_cast<size_t>(phase[i])] = crossings(outcome.moved[i]);
  return outcome.ticks;
}

VirtualModule::Charge VirtualModule::charge(double seconds, bool lies) {
  on_->worked += seconds;
  const double work = seconds * noise_.factor();
  return {lies ? work * kLie : work, work};
}

// The host waits for the first launch, which costs an eager launch.
Diags VirtualModule::run_phases(const Call& call, Repeat& to) {
  const Chip& chip = on_->chip;
  const double own = in_sequence_ ? chip.barrier : chip.launch,
               overhead = call.options.recorded ? chip.graph : own;
  for (const std::vector<int>& phase : call.phases) {
    if (call.options.cancel != nullptr && call.options.cancel->load()) return {error("cancelled")};
    follow_neighbour();
    const double hz = clock();
    const Result<double> ticks = run_phase(call, phase, hz, to);
    if (!ticks) return ticks.diags();
    const Charge work = charge(*ticks / hz, call.lies);
    to.busy.push_back(work.said);
    const double launched = phase.empty() ? 0 : overhead;
    to.steps.push_back(work.said + launched);
    to.total += work.took + launched;  // by the host's clock, which does not lie
  }
  if (to.steps.empty()) return {};
  const double wait = std::max(0.0, chip.eager - own);
  to.steps.front() += wait;
  to.total += wait;
  return {};
}

Diags VirtualModule::run_schedule(const Call& call, Repeat& to) {
  if (call.options.cancel != nullptr && call.options.cancel->load()) return {error("cancelled")};
  follow_neighbour();
  memo_.clear();
  const Chip& chip = state().chip;
  const double hz = clock();
  std::vector<Job> jobs;
  for (const Launch& l : call.launches) jobs.push_back(job_of(l));
  const std::span<const ir::Command> schedule = call.options.schedule;
  const int units = units_of(schedule), resident = call.options.resident;
  Machine machine = start(hz, units);
  const QueueCosts costs{barrier_of(chip, double{1} * units * resident) * hz, meeting_of(chip, hz)};
  QueueOutcome outcome = simulate_queues(machine, jobs, schedule, resident, costs);
  if (!outcome.all.fault.empty()) return {error(outcome.all.fault)};
  to.executed += outcome.all.executed;
  for (size_t l = 0; l < jobs.size(); ++l) to.moved[l] = crossings(outcome.all.moved[l]);
  const Charge work = charge(outcome.all.ticks / hz, call.lies);
  // One launch, or units that begin behind a barrier; the host waits for it.
  to.total += work.took + std::max(chip.eager, chip.threads ? chip.launch : chip.barrier);
  if (!call.options.traced) return {};
  const double tick = outcome.all.ticks > 0 ? work.said / outcome.all.ticks : 0;
  for (Slice& s : outcome.slices) s.begin *= tick, s.end *= tick;
  to.slices = std::move(outcome.slices);
  return {};
}

// Which kernel needs most of what limits the groups of all most.
Refusal VirtualModule::too_many(std::span<const Launch> launches, int resident) const {
  const Chip& chip = on_->chip;
  Needs all;
  std::vector<std::pair<const Code*, Needs>> each;
  for (const Launch& l : launches) {
    const Code& code = alone_.codes[static_cast<size_t>(l.kernel)];
    each.emplace_back(&code, needs_of(chip, code));
    all = largest(all, each.back().second);
  }
  const Fitting fit = fitting(chip, all);
  if (resident <= fit.all()) return {};
  const int least = fit.all();
  const auto most = [&](auto need) {
    return std::ranges::max_element(each, {}, [&](const auto& e) { return need(e.second); });
  };
  const auto said = [&](const auto& at, const std::string& what) -> Refusal {
    return {fmt::format("{} of the schedule's groups fit a unit of {}, the plan has `resident: "
                        "{}`: kernel '{}' needs {}",
                        least, on_->id, resident, at->first->name, what),
            least > 0 ? fmt::format("`resident: {}`, or compile with `--schedule off`", least)
                      : "compile with `--schedule off`"};
  };
  if (fit.scratch == least) {
    const auto at = most([](const Needs& n) { return n.scratch_bytes; });
    return said(at, fmt::format("{} bytes of group memory", at->second.scratch_bytes));
  }
  if (fit.registers == least) {
    const auto at = most([](const Needs& n) { return n.registers; });
    return said(at, fmt::format("{} registers in each thread", at->second.registers));
  }
  const auto at = most([](const Needs& n) { return n.waves; });
  return said(at, fmt::format("{} threads", at->second.threads));
}

Refusal VirtualModule::refusal(std::span<const Launch> launches, const RunOptions& options) const {
  const Chip& chip = on_->chip;
  const std::string api = "apis." + chip.api;
  if (!options.phases.empty()) {
    if (!chip.threads)
      return {on_->id + " has units of vectors, which run one launch after the other", ""};
    if (merges_ || chip.beside_launch > 0) return {};
    return {fmt::format("kernels of '{}' are not merged, and what a launch without a barrier takes "
                        "is not known: {}.launch.beside",
                        chip.dialect, api),
            ""};
  }
  if (options.schedule.empty()) return {};
  if (!chip.queues)
    return {fmt::format("{} has no queues: its profile does not say {}.coresident_groups: true and "
                        "{}.{}",
                        on_->id, api, api, chip.threads ? "coresident_barrier" : "device_barrier"),
            "compile with `--schedule off`"};
  if (const int units = units_of(options.schedule); units > chip.units)
    return {fmt::format("the schedule is for {} units, {} has {}", units, on_->id, chip.units),
            "compile it for this chip"};
  if (chip.threads) return too_many(launches, options.resident);
  if (options.resident > 1)
    return {fmt::format("a unit of {} runs one group at a time, the plan has `resident: {}`",
                        on_->id, options.resident),
            "`resident` is of chips whose lanes are threads"};
  return {};
}

Result<Refusal> VirtualModule::prepare(std::span<const Launch> launches,
                                       const RunOptions& options) {
  if (options.resident < 1)
    return error(fmt::format("{} resident groups on a unit", options.resident));
  return refusal(launches, options);
}

Diags VirtualModule::check(std::span<const Launch> launches, const RunOptions& options) const {
  if (options.repeat < 0 || options.warm_up < 0)
    return {error("repeat and warm_up can not be negative")};
  Diags faults = check_launches(launches, kernels_, storage_.size(),
                                [&](int b) { return storage_.bytes_of(b); });
  if (has_error(faults)) return faults;
  if (options.recorded && !options.schedule.empty())
    return {error("a schedule is one launch, so there is nothing to record")};
  if (options.recorded && on_->chip.graph <= 0)
    return {
        error(fmt::format("{} records no launches: its profile knows no launch.graph", on_->id))};
  if (!options.schedule.empty() && !options.phases.empty())
    return {error("launches run by a schedule or in phases, not both")};
  if (!options.phases.empty()) faults = check_phases(options.phases, launches.size());
  if (!options.schedule.empty() && on_->chip.queues) {
    std::vector<int64_t> groups;
    for (const Launch& l : launches)
      groups.push_back(kernels_[static_cast<size_t>(l.kernel)].groups);
    faults = check_schedule(options.schedule, groups, on_->chip.units);
  }
  if (has_error(faults)) return faults;
  if (options.resident < 1)
    return {error(fmt::format("{} resident groups on a unit", options.resident))};
  const Refusal refused = refusal(launches, options);
  return refused.reason.empty() ? Diags{} : Diags{error(refused.reason, refused.hint)};
}

Result<RunTimes> VirtualModule::run(std::span<const Launch> launches, const RunOptions& options) {
  if (Diags faults = check(launches, options); has_error(faults)) return faults;
  const bool fails = fails_now(++on_->runs);
  const FaultKind kind = fails ? on_->effects.fault.kind : FaultKind::none;
  if (kind == FaultKind::error)
    return error(fmt::format("{}: the device was lost in run {}", on_->id, on_->runs),
                 "its effects ask for it");
  if (kind == FaultKind::crash) std::abort();
  while (kind == FaultKind::hang) ::pause();
  const Call call{launches, options, phases_of(launches.size(), options), kind == FaultKind::lies};
  RunTimes times;
  for (int r = -options.warm_up; r < options.repeat; ++r) {
    Repeat repeat;
    repeat.moved.resize(launches.size());
    const Diags faults =
        options.schedule.empty() ? run_phases(call, repeat) : run_schedule(call, repeat);
    if (has_error(faults)) return faults;
    times.executed += repeat.executed;
    times.moved = std::move(repeat.moved);
    if (r < 0) continue;
    times.total.push_back(repeat.total);
    if (options.recorded) continue;
    if (options.schedule.empty()) {
      times.steps.push_back(std::move(repeat.steps));
      times.busy.push_back(std::move(repeat.busy));
    } else if (options.traced) {
      times.slices = std::move(repeat.slices);
      add_steps(times, times.slices, options.schedule, launches.size());
    }
  }
  return times;
}

}  // namespace assay::runtime::simulated
