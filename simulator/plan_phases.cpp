// A plan whose steps are launched in phases: several in one launch, or without barriers between.
#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/beside.h"
#include "simulator/phase_dispatch.h"
#include "simulator/plan_steps.h"
#include "simulator/unit_range.h"

namespace assay::simulator {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

class PhaseSimulator {  // invariant: refers to a plan and a machine that outlive it
 public:
  PhaseSimulator(const ir::Plan& plan, const model::Machine& m)
      : plan_(plan), m_(m), memories_(shared_memories(m)) {
    for (const ir::Program& p : plan.programs) needs_.push_back(needs_of(p, m));
  }

  PlanEstimate run(TermDetail detail) {
    absent_.assign(plan_.steps.size(), false);
    pass(TermDetail::none);
    std::vector<double> seconds;
    for (const model::Estimate& e : alone_) seconds.push_back(e.seconds);
    absent_ = left_out(plan_, m_, seconds);
    for (int i = 0; i + 1 < kPassesBefore; ++i) {
      const CacheState before = state_;
      pass(TermDetail::none);
      if (alike(before, state_)) break;
    }
    pass(detail);
    return result();
  }

 private:
  struct Span {
    double begin = 0, end = 0;  // s
    int first = 0, last = 0;    // units that its part of the phase's groups would fill
  };

  double groups_of(int step) const {
    return static_cast<double>(ir::group_count(plan_.programs[at(plan_.steps[at(step)].program)]));
  }
  const model::GroupNeeds& needs(int step) const {
    return needs_[at(plan_.steps[at(step)].program)];
  }

  // Steps of a phase that start together: where they are merged, those whose groups have as many
  // threads.
  std::vector<std::vector<int>> launches_of(const std::vector<int>& phase) const {
    if (!m_.merges) return {phase};
    std::map<double, size_t> by_threads;
    std::vector<std::vector<int>> out;
    for (const int s : phase) {
      const auto [known, fresh] = by_threads.try_emplace(needs(s).threads, out.size());
      if (fresh) out.emplace_back();
      out[known->second].push_back(s);
    }
    return out;
  }

  // On so many units, without a launch. What is known of steps is kept for each number of groups on
  // a unit.
  model::Estimate estimate(int step, int resident, int units, TermDetail detail) {
    auto known = machines_.find(resident);
    if (known == machines_.end()) {
      model::Machine m = m_;
      m.launch.value = 0;
      if (resident > 0) m.resident_groups = std::min<double>(m.resident_groups, resident);
      known = machines_.emplace(resident, std::pair(std::move(m), PlanSteps(plan_))).first;
    }
    auto& [machine, steps] = known->second;
    return steps.estimate(plan_.steps[at(step)], part_of(machine, 0, units), state_, detail);
  }

  void pass(TermDetail detail) {
    alone_.assign(plan_.steps.size(), {});
    spans_.assign(plan_.steps.size(), {});
    barriers_.clear();
    now_ = launches_ = 0;
    for (const std::vector<int>& phase : plan_.phases) {
      const double began = now_;
      for (const std::vector<int>& launch : launches_of(phase)) start(launch, detail);
      double over = began;
      for (const int s : phase) over = std::max(over, spans_[at(s)].end);
      barriers_.emplace_back(over, now_);
    }
  }

  void start(const std::vector<int>& all, TermDetail detail) {
    const double began = now_;
    std::vector<int> steps;
    for (const int s : all)
      if (absent_[at(s)])
        alone_[at(s)] = estimate(s, 0, units(), TermDetail::none);
      else
        steps.push_back(s);
    if (steps.empty()) return;
    steps.size() == 1 ? one(steps[0], detail) : several(steps, detail);
    const double more = m_.merges ? 0 : static_cast<double>(steps.size() - 1),
                 launch = m_.launch.value + more * m_.beside_launch.value;
    launches_ += launch;
    now_ += launch;
    for (const int s : steps) state_ = leaving_.leave(plan_.steps[at(s)], m_, std::move(state_), 0);
    pass_time(state_, now_ - began);
  }

  int units() const { return static_cast<int>(m_.units); }

  void one(int step, TermDetail detail) {
    alone_[at(step)] = estimate(step, 0, units(), detail);
    spans_[at(step)] = {now_, now_ + alone_[at(step)].seconds, 0, units()};
    now_ += alone_[at(step)].seconds;
  }

  void several(const std::vector<int>& steps, TermDetail detail) {
    model::GroupNeeds most;
    double groups = 0;
    for (const int s : steps) most = larger(most, needs(s)), groups += groups_of(s);
    const int fitting = std::max(1, residents(most, m_));
    const double on_unit =
        std::clamp(std::ceil(groups / units()), 1.0, static_cast<double>(fitting));
    std::vector<DispatchedStep> dispatched;
    std::vector<double> busy(memories_.size(), 0);
    for (const int s : steps) {
      const double own = groups_of(s), width = std::min<double>(units(), std::ceil(own / on_unit));
      model::Estimate& e = alone_[at(s)];
      e = estimate(s, m_.merges ? fitting : 0, static_cast<int>(width), detail);
      dispatched.push_back({own, e.seconds / std::ceil(own / (width * on_unit))});
      for (size_t l = 0; l < memories_.size(); ++l)
        busy[l] += part_taken(e, m_.levels[memories_[l]]) * e.seconds;
    }
    const std::vector<DispatchSpan> spans = dispatch(dispatched, on_unit * units());
    double end = 0;
    for (const DispatchSpan& s : spans) end = std::max(end, s.end);
    double slower = 1;
    for (const double seconds : busy)
      if (end > 0) slower = std::max(slower, seconds / end);
    double filled = 0;  // groups
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto unit = [&](double g) { return static_cast<int>(g / groups * units()); };
      const int first = unit(filled);
      filled += dispatched[i].groups;
      spans_[at(steps[i])] = {now_ + spans[i].begin * slower, now_ + spans[i].end * slower, first,
                              std::max(first + 1, unit(filled))};
    }
    now_ += end * slower;
  }

  PlanEstimate result() {
    PlanEstimate out;
    double low = 0, high = 0;
    int command = 0;  // ir::schedule_of
    for (size_t p = 0; p < plan_.phases.size(); ++p) {
      out.phases.push_back(whole(p));
      for (const int s : plan_.phases[p]) {
        const Span& span = spans_[at(s)];
        if (!absent_[at(s)])
          out.timeline.push_back({span.first, span.last, command, span.begin, span.end});
        ++command;
      }
      out.timeline.push_back({0, units(), command++, barriers_[p].first, barriers_[p].second});
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      model::Estimate& e = alone_[s];
      if (!absent_[s]) {
        add(out.total, e, low, high);
        e = beside_others(std::move(e), spans_[s].end - spans_[s].begin);
      }
      out.steps.push_back(std::move(e));
    }
    const double scale = out.total.seconds > 0 ? now_ / out.total.seconds : 1;
    out.total.seconds = now_;
    out.total.terms.push_back({"launches", launches_, ""});
    finish(out.total, low * scale, high * scale);
    out.left_out = absent_;
    return out;
  }

  // A phase with its launch.
  model::Estimate whole(size_t phase) const {
    model::Estimate out;
    double low = 0, high = 0;
    for (const int s : plan_.phases[phase])
      if (!absent_[at(s)]) add(out, alone_[at(s)], low, high);
    const double began = phase == 0 ? 0 : barriers_[phase - 1].second,
                 seconds = barriers_[phase].second - began,
                 scale = out.seconds > 0 ? seconds / out.seconds : 1;
    out.seconds = seconds;
    out.terms.push_back({"launch", seconds - (barriers_[phase].first - began), ""});
    finish(out, low * scale, high * scale);
    return out;
  }

  const ir::Plan& plan_;
  const model::Machine& m_;
  const std::vector<size_t> memories_;
  std::vector<model::GroupNeeds> needs_;                          // per program
  std::map<int, std::pair<model::Machine, PlanSteps>> machines_;  // by groups on a unit; 0: its own
  std::vector<bool> absent_;                                      // left_out
  PlanSteps leaving_{plan_};
  CacheState state_;
  double now_ = 0, launches_ = 0;                    // s
  std::vector<std::pair<double, double>> barriers_;  // s, per phase
  std::vector<model::Estimate> alone_;               // per step
  std::vector<Span> spans_;
};

}  // namespace

PlanEstimate simulate_phases(const ir::Plan& plan, const model::Machine& m, TermDetail detail) {
  return PhaseSimulator(plan, m).run(detail);
}

}  // namespace assay::simulator
