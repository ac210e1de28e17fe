#include "toolkit/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "model/machine.h"
#include "toolkit/estimate_json.h"
#include "toolkit/profiles.h"

namespace assay::toolkit {

namespace {

using Kind = ir::Command::Kind;

constexpr double kMicro = 1e6;
constexpr double kShortest = 1e-9;  // s; shorter gaps are none

// Per counter the step before its first signal, in the queue of a unit that signals.
std::map<int, int> signalling_steps(std::span<const ir::Command> schedule) {
  std::map<int, int> out, latest;  // step; by unit, of the run before
  for (const ir::Command& c : schedule) {
    if (c.kind == Kind::run)
      for (int u = c.first; u < c.last; ++u) latest[u] = c.step;
    if (const auto step = latest.find(c.first); c.kind == Kind::signal && step != latest.end())
      out.emplace(c.counter, step->second);
  }
  return out;
}

class Slicer {  // invariant: refers to a plan that outlives it
 public:
  explicit Slicer(const ir::Plan& plan)
      : plan_(plan), schedule_(ir::schedule_of(plan)), signalling_(signalling_steps(schedule_)) {}

  void add(int unit, const simulator::Slice& s) {
    ir::Command c = schedule_[static_cast<size_t>(s.command)];
    if (!plan_.phases.empty()) c.first = s.first, c.last = s.last;
    add(unit, c, s.begin, s.end);
  }
  void add(const runtime::Slice& s) {
    add(s.unit, schedule_[static_cast<size_t>(s.command)], s.begin, s.end);
  }

  void add(int unit, const ir::Command& c, double begin, double end) {
    TraceSlice out{unit, "", begin, end};
    if (c.kind == Kind::run) {
      std::tie(out.first_group, out.last_group) = ir::groups_of(c, unit);
      if (out.first_group == out.last_group) return;
      out.step = c.step;
      out.name = name_of(c.step);
    } else if (c.kind == Kind::wait) {
      const auto step = signalling_.find(c.counter);
      out.name = "wait for " + (step == signalling_.end() ? fmt::format("counter {}", c.counter)
                                                          : name_of(step->second));
    } else {
      out.name = c.kind == Kind::barrier ? "barrier" : "signal";
    }
    of_unit_[unit].push_back(std::move(out));
  }

  std::vector<TraceSlice> slices() {
    double end = 0;
    for (auto& [unit, all] : of_unit_) {
      std::ranges::stable_sort(all, {}, &TraceSlice::begin);
      end = std::max(end, all.back().end);
    }
    std::vector<TraceSlice> out;
    for (const auto& [unit, all] : of_unit_) {
      double now = 0;
      for (const TraceSlice& s : all) {
        if (s.begin - now > kShortest) out.push_back({unit, "idle", now, s.begin});
        out.push_back(s);
        now = s.end;
      }
      if (end - now > kShortest) out.push_back({unit, "idle", now, end});
    }
    return out;
  }

 private:
  const std::string& name_of(int step) const {
    return ir::display_name(plan_.steps[static_cast<size_t>(step)]);
  }

  const ir::Plan& plan_;
  const std::vector<ir::Command> schedule_;
  const std::map<int, int> signalling_;
  std::map<int, std::vector<TraceSlice>> of_unit_;
};

Json named(const char* what, int process, int thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

Json event(const TraceSlice& s, int process) {
  Json out = {{"ph", "X"},     {"name", s.name},         {"pid", process},
              {"tid", s.unit}, {"ts", s.begin * kMicro}, {"dur", (s.end - s.begin) * kMicro}};
  if (s.step >= 0)
    out["args"] = {{"step", s.step},
                   {"groups", fmt::format("[{}, {})", s.first_group, s.last_group)}};
  return out;
}

// Bytes/s over each boundary while the steps run, as each moves its bytes evenly.
void add_traffic(Json& events, const TraceProcess& p, int process) {
  struct Span {
    double begin = 0, end = 0;
  };
  std::map<int, Span> spans;
  for (const TraceSlice& s : p.slices) {
    if (s.step < 0) continue;
    const auto [at, fresh] = spans.emplace(s.step, Span{s.begin, s.end});
    if (!fresh) at->second = {std::min(at->second.begin, s.begin), std::max(at->second.end, s.end)};
  }
  std::map<std::string, std::map<double, double>> changes;  // per boundary: by time
  for (const auto& [step, span] : spans) {
    if (static_cast<size_t>(step) >= p.estimates.size() || span.end <= span.begin) continue;
    for (const model::LevelUse& u : p.estimates[static_cast<size_t>(step)].levels) {
      const double rate = (u.read_bytes + u.written_bytes) / (span.end - span.begin);
      changes[u.boundary][span.begin] += rate;
      changes[u.boundary][span.end] -= rate;
    }
  }
  for (const auto& [boundary, of] : changes) {
    double rate = 0;
    for (const auto& [time, change] : of) {
      rate = std::max(0.0, rate + change);
      events.push_back({{"ph", "C"},
                        {"name", boundary + " GB/s"},
                        {"pid", process},
                        {"ts", time * kMicro},
                        {"args", {{"GB/s", std::round(rate * 1e-3) * 1e-6}}}});
    }
  }
}

}  // namespace

std::vector<TraceSlice> slices_of(const ir::Plan& plan, std::span<const simulator::Slice> slices) {
  Slicer out(plan);
  for (const simulator::Slice& s : slices)
    for (int unit = s.first; unit < s.last; ++unit) out.add(unit, s);
  return out.slices();
}

std::vector<TraceSlice> slices_of(const ir::Plan& plan, std::span<const runtime::Slice> slices) {
  Slicer out(plan);
  for (const runtime::Slice& s : slices) out.add(s);
  return out.slices();
}

Result<TraceProcess> predicted_trace(const Bundle& bundle) {
  const Result<hwdesc::Target> target = target_of(bundle.profile, bundle.api);
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  simulator::PlanEstimate e = simulator::simulate(bundle.plan, *machine);
  return TraceProcess{"predicted, " + bundle.profile.name, slices_of(bundle.plan, e.timeline),
                      std::move(e.steps)};
}

std::string print_trace(std::span<const TraceProcess> processes) {
  Json events = Json::array();
  for (size_t i = 0; i < processes.size(); ++i) {
    const TraceProcess& p = processes[i];
    const int process = static_cast<int>(i) + 1;
    events.push_back(named("process_name", process, 0, p.name));
    int last = -1;
    for (const TraceSlice& s : p.slices) {
      if (s.unit != last)
        events.push_back(named("thread_name", process, s.unit, fmt::format("unit {}", s.unit)));
      last = s.unit;
      events.push_back(event(s, process));
    }
    add_traffic(events, p, process);
  }
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}.dump(1) + "\n";
}

}  // namespace assay::toolkit
