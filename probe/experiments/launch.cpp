// The cost of launching.
#include <numeric>
#include <span>
#include <vector>

#include "probe/experiments/experiments.h"

namespace assay::probe {
namespace {

constexpr int64_t kGroupsStarted = 1 << 14;

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

// The cost of one more step in a run, barrier included.
void measure_steps(Session& s, Bench& bench, const char* what) {
  constexpr size_t kSteps = 200;
  const std::vector<runtime::Launch> steps(kSteps,
                                           bench.launch(empty_groups(s.device.units, 1), 1));
  Observation o{"launch", what, {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  for (int i = 0; i < 5; ++i)
    bench.sample(o, [&] {
      const std::vector<double> times = bench.run_steps(steps);
      return std::accumulate(times.begin() + 1, times.end(), 0.0) /
             (kSteps - 1);  // the first step wakes the device
    });
  s.emit(o);
}

// Wake-up skew: the time of a step in which all units work, less that of one unit alone. Steps last
// longer than waking a unit.
void measure_join(Session& s, Bench& bench) {
  constexpr size_t kSteps = 8;
  if (s.device.units < 2) return;
  const Job one = bench.sentinel_job(1, 0.4e-3), all = bench.sentinel_job(s.device.units, 0.4e-3);
  const int64_t amount = bench.amount_for("join", one);
  Observation o{"launch", "join", {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  const auto step_of = [&](const Job& job) {
    const std::vector<double> times =
        bench.run_steps(std::vector<runtime::Launch>(kSteps, bench.launch(job, amount)));
    return std::accumulate(times.begin() + 1, times.end(), 0.0) / (kSteps - 1);
  };
  for (int i = 0; i < 9; ++i)
    bench.sample(o,
                 // Where there is no skew, noise makes half of these negative.
                 [&] { return step_of(all) - step_of(one); });
  s.emit(o);
}

// The cost of one more step of a recorded run. If the device records nothing, the reason is a fact.
void measure_recorded(Session& s, Bench& bench) {
  constexpr size_t kMany = 200, kFew = 2;
  const std::vector<runtime::Launch> steps(kMany, bench.launch(empty_groups(s.device.units, 1), 1));
  const std::span<const runtime::Launch> many(steps), few = many.first(kFew);
  if (const auto first = bench.run_recorded(many); !first)
    return s.fact(kUnrecorded, first.diags().front().message);
  Observation o{"launch", "recorded", {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  for (int i = 0; i < 9; ++i)
    bench.sample(o, [&] {
      const auto all = bench.run_recorded(many), some = bench.run_recorded(few);
      if (!all || !some) fail(all ? some.diags() : all.diags());
      return (*all - *some) / static_cast<double>(kMany - kFew);
    });
  s.emit(o);
}

// The cost of one more launch that no barrier separates from the one before.
void measure_beside(Session& s, Bench& bench) {
  constexpr size_t kPhases = 25, kTogether = 8;
  if (!s.device.phased || s.device.merges) return;
  const std::vector<runtime::Launch> many(kPhases * kTogether,
                                          bench.launch(empty_groups(s.device.units, 1), 1));
  const std::span<const runtime::Launch> few = std::span(many).first(kPhases);
  Observation o{"launch", "beside", {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  // The first phase wakes the device.
  const auto total = [](const std::vector<double>& phases) {
    return std::accumulate(phases.begin() + 1, phases.end(), 0.0);
  };
  for (int i = 0; i < 9; ++i)
    bench.sample(o, [&] {
      return (total(bench.run_phases(many, kTogether)) - total(bench.run_phases(few, 1))) /
             static_cast<double>((kPhases - 1) * (kTogether - 1));
    });
  s.emit(o);
}

// Launches that are submitted to the driver one by one.
void measure_separate_launches(Session& s) {
  std::vector<ir::Kernel> some;
  for (const ir::Kernel& k : s.kernels)
    if (k.name == "nothing" || k.name == "sentinel") some.push_back(k);
  const auto module = s.one_by_one(some);
  Bench bench(*module, some, s.device);
  measure_steps(s, bench, "step");
  measure_join(s, bench);
  measure_recorded(s, bench);
}

// One launch, waited for, timed by the host.
void measure_eager(Session& s) {
  const runtime::Launch one = s.bench.launch(empty_groups(s.device.units, 1), 1);
  Observation o{"launch", "eager", {{"units", s.device.units}}, "s", {}, {}, 0, {}};
  for (int i = 0; i < 5; ++i) s.bench.sample(o, [&] { return s.bench.run_waited_for({&one, 1}); });
  s.emit(o);
}

}  // namespace

void run_launch(Session& s) {
  const Job groups = empty_groups(1, kGroupsStarted);
  s.rounds(4, [&](size_t i) {
    if (i == 0)
      measure_steps(s, s.bench, s.device.in_sequence ? "barrier" : "step");
    else if (i == 1)
      measure_eager(s);
    else if (i == 2)
      s.emit(s.bench.measure("launch", "group", {}, groups));
    else if (s.device.in_sequence)
      measure_separate_launches(s);
    else {
      measure_join(s, s.bench);
      measure_recorded(s, s.bench);
      measure_beside(s, s.bench);
    }
  });
}

}  // namespace assay::probe
