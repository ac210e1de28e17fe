// A plan whose units work through queues: steps side by side, in the caches that earlier ones left.
#include <algorithm>
#include <cmath>
#include <optional>

#include "simulator/beside.h"
#include "simulator/plan_steps.h"
#include "simulator/run_queues.h"
#include "simulator/step_spans.h"
#include "simulator/unit_range.h"

namespace assay::simulator {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

class ScheduleSimulator {  // invariant: refers to a plan and a machine that outlive it
 public:
  ScheduleSimulator(const ir::Plan& plan, const model::Machine& m)
      : plan_(plan),
        m_(m),
        inside_(with_residents(m, plan.resident)),
        memories_(shared_memories(m)),
        units_(plan.steps.size()),
        absent_(plan.steps.size(), false) {
    for (const ir::Command& c : plan.schedule) {
      if (c.kind != ir::Command::Kind::run) continue;
      std::optional<Part>& u = units_[at(c.step)];
      u = u ? Part{std::min(u->first, c.first), std::max(u->last, c.last)} : Part{c.first, c.last};
    }
    // A signal reaches other units as the last arrival at a barrier does.
    costs_ = {inside_.launch.value, inside_.launch.value, memories_.size(),
              plan.resident > 1 ? model::resident_barrier_of(m, plan.resident) : 0};
  }

  // The order in which steps begin changes little from pass to pass, so that of the first one is
  // taken to fill the caches.
  PlanEstimate run(TermDetail detail) {
    pass(TermDetail::none);
    std::vector<double> seconds;
    for (const auto& e : estimates_) seconds.push_back(e->seconds);
    absent_ = left_out(plan_, m_, seconds);
    for (int i = 0; i + 1 < kPassesBefore; ++i) {
      const CacheState before = state_;
      for (const int s : begun_) run_through(s, estimates_[at(s)]->seconds);
      if (alike(before, state_)) break;
    }
    const QueueTimes times = pass(detail);
    return result(times);
  }

 private:
  struct Part {
    int first = 0, last = 0;
  };

  const model::Machine& machine_for(int step) {
    const Part& part = *units_[at(step)];
    const auto [known, fresh] = machines_.try_emplace({part.first, part.last});
    model::Machine& out = known->second;
    if (!fresh) return out;
    out = part_of(inside_, part.first, part.last);
    out.launch.value = 0;  // barriers are commands
    return out;
  }

  void run_through(int step, double seconds) {
    state_ = steps_.leave(plan_.steps[at(step)], machine_for(step), std::move(state_), seconds);
  }

  QueueTimes pass(TermDetail detail) {
    estimates_.assign(plan_.steps.size(), std::nullopt);
    begun_.clear();
    return run_queues(plan_.schedule, plan_.units, costs_,
                      [&](int command) { return demand_of(plan_.schedule[at(command)], detail); });
  }

  RunDemand demand_of(const ir::Command& c, TermDetail detail) {
    std::optional<model::Estimate>& e = estimates_[at(c.step)];
    const ir::Step& step = plan_.steps[at(c.step)];
    if (!e) {
      e = steps_.estimate(step, machine_for(c.step), state_, detail);
      begun_.push_back(c.step);
      run_through(c.step, e->seconds);
    }
    const double units = units_[at(c.step)]->last - units_[at(c.step)]->first,
                 own = c.last - c.first;
    const auto groups = static_cast<double>(ir::group_count(plan_.programs[at(step.program)]));
    RunDemand out;
    out.most_groups = std::ceil(static_cast<double>(c.end - c.begin) / own);
    if (absent_[at(c.step)]) {
      out.bandwidths.assign(memories_.size(), 0);
      return out;
    }
    out.seconds = e->seconds * out.most_groups / std::ceil(groups / units);
    for (const size_t l : memories_)
      out.bandwidths.push_back(part_taken(*e, m_.levels[l]) * own / units);
    return out;
  }

  PlanEstimate result(const QueueTimes& times) {
    PlanEstimate out;
    double low = 0, high = 0, busy = 0, pausing = 0;
    for (const Slice& s : times.slices)
      (plan_.schedule[at(s.command)].kind == ir::Command::Kind::run ? busy : pausing) +=
          (s.end - s.begin) * (s.last - s.first);
    const std::vector<StepSpan> spans =
        step_spans(plan_.schedule, plan_.steps.size(), times.slices);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (absent_[s]) {
        out.steps.push_back(std::move(*estimates_[s]));
        continue;
      }
      add(out.total, *estimates_[s], low, high);
      out.steps.push_back(beside_others(std::move(*estimates_[s]), spans[s].seconds()));
    }
    const double launch = plan_.resident > 0 ? m_.launch.value : 0, all = launch + times.seconds;
    const double scale = out.total.seconds > 0 ? all / out.total.seconds : 1;
    out.total.seconds = all;
    if (launch > 0) out.total.terms.push_back({"one launch", launch, ""});
    out.total.terms.push_back({"barriers and waits", pausing / plan_.units, ""});
    out.total.terms.push_back(
        {"idle units", std::max(0.0, times.seconds - (busy + pausing) / plan_.units), ""});
    finish(out.total, low * scale, high * scale);
    out.left_out = absent_;
    out.timeline = times.slices;
    for (Slice& s : out.timeline) s.begin += launch, s.end += launch;
    return out;
  }

  const ir::Plan& plan_;
  const model::Machine& m_;
  const model::Machine inside_;  // the launch, or between launches
  const std::vector<size_t> memories_;
  std::vector<std::optional<Part>> units_;  // per step
  std::vector<bool> absent_;                // left_out
  std::map<std::pair<int, int>, model::Machine> machines_;
  PlanSteps steps_{plan_};
  QueueCosts costs_;
  CacheState state_;
  std::vector<std::optional<model::Estimate>> estimates_;
  std::vector<int> begun_;  // steps
};

}  // namespace

PlanEstimate simulate_schedule(const ir::Plan& plan, const model::Machine& m, TermDetail detail) {
  return ScheduleSimulator(plan, m).run(detail);
}

}  // namespace assay::simulator
