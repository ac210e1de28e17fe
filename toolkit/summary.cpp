#include "toolkit/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/machine.h"
#include "simulator/estimate.h"
#include "toolkit/model_type.h"
#include "toolkit/profiles.h"
#include "toolkit/simulate.h"
#include "toolkit/transfers.h"

namespace assay::toolkit {
namespace {

// JSON has no infinity: a result without any correct value has no error.
Json number_or_null(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

Json to_json(const Span& s) {
  return {{"predicted_s", s.seconds}, {"interval_s", {s.low, s.high}}};
}

void put_calibrated(const Bundle& bundle, const RunResult& run, const Calibration& calibration,
                    Summary& to) {
  std::vector<Span> steps;
  for (size_t i = 0; i < bundle.plan.steps.size(); ++i) {
    const ir::Program& p = bundle.plan.programs[static_cast<size_t>(bundle.plan.steps[i].program)];
    steps.push_back(calibrated(calibration, class_of(p), bundle.estimates[i]));
    if (!run.phased) to.operators[i].calibrated = steps.back();
  }
  for (const model::Estimate& e : bundle.transfers) steps.push_back({e.seconds, e.low, e.high});
  to.calibrated = sum_of(steps);
}

void put_as_it_ran(const Bundle& bundle, const probe::AsProbed& now, Summary& to) {
  if (probe::placed_as_probed(now)) return;
  const Result<hwdesc::Target> target =
      target_of(probe::profile_as_placed(bundle.profile, now), bundle.api);
  if (!target) return;
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return;
  if (!bundle.plan.transfers.empty() && !machine->host_link) return;
  const simulator::PlanEstimate e = simulator::simulate(bundle.plan, *machine);
  to.as_it_ran = Span{e.total.seconds, e.total.low, e.total.high};
  for (size_t i = 0; i < e.steps.size(); ++i)
    to.operators[i].as_it_ran = Span{e.steps[i].seconds, e.steps[i].low, e.steps[i].high};
}

// Of the bundle's phases on its own profile; the bundle keeps what each step takes.
std::vector<model::Estimate> phase_estimates(const Bundle& bundle) {
  const Result<hwdesc::Target> target = target_of(bundle.profile, bundle.api);
  if (!target) return {};
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return {};
  return simulator::simulate(bundle.plan, *machine).phases;
}

Json part_or_null(double v) { return v > 0 ? Json(v) : Json(nullptr); }

Json to_json(const probe::AsProbed& now) {
  return {{"multiply_adds", now.multiply_adds},
          {"dirty_remote_read", part_or_null(now.dirty_remote_read)},
          {"upgrade", part_or_null(now.upgrade)},
          {"elsewhere", part_or_null(now.cross_die_ratio)}};
}

// Of boundaries that estimates and simulated chips both have: a scratchpad is none of a chip's
// caches.
std::vector<TrafficSummary> traffic_of(const model::Estimate& e,
                                       const std::vector<runtime::Crossing>& counted) {
  std::vector<TrafficSummary> out;
  for (const runtime::Crossing& c : counted)
    for (const model::LevelUse& u : e.levels)
      if (u.boundary == c.boundary)
        out.push_back({c.boundary, u.read_bytes + u.written_bytes, c.read + c.written});
  return out;
}

void put_traffic(const Bundle& bundle, const RunResult& run, Summary& to) {
  for (size_t i = 0; i < run.moved.size(); ++i) {
    const std::vector<TrafficSummary> step = traffic_of(bundle.estimates[i], run.moved[i]);
    if (!run.phased) to.operators[i].traffic = step;
    for (const TrafficSummary& t : step) {
      auto at = std::ranges::find(to.traffic, t.boundary, &TrafficSummary::boundary);
      if (at == to.traffic.end()) at = to.traffic.insert(at, {t.boundary});
      at->predicted += t.predicted;
      at->counted += t.counted;
    }
  }
}

Json to_json(const std::vector<TrafficSummary>& traffic) {
  Json out = Json::array();
  for (const TrafficSummary& t : traffic)
    out.push_back(
        {{"boundary", t.boundary}, {"predicted_bytes", t.predicted}, {"counted_bytes", t.counted}});
  return out;
}

OperatorSummary operator_of(const std::string& name, const std::string& label,
                            const model::Estimate& e, const Times& measured) {
  return {name, label, e.seconds, e.low, e.high, measured, e.bound, {}, {}};
}

void put_operators(const Bundle& bundle, const RunResult& run, Summary& to) {
  const ir::Plan& plan = bundle.plan;
  if (run.phased) {
    const std::vector<model::Estimate> phases = phase_estimates(bundle);
    for (size_t p = 0; p < phases.size(); ++p) {
      std::vector<std::string> labels;
      for (const int s : plan.phases[p])
        labels.push_back(ir::display_name(plan.steps[static_cast<size_t>(s)]));
      to.operators.push_back(operator_of(fmt::format("phase {}", p),
                                         fmt::format("{}", fmt::join(labels, " | ")), phases[p],
                                         run.steps[p]));
    }
    return;
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const ir::Step& step = plan.steps[i];
    to.operators.push_back(
        operator_of(step.name, ir::display_name(step), bundle.estimates[i], run.steps[i]));
    to.operators.back().left_out = !run.left_out.empty() && run.left_out[i];
  }
}

}  // namespace

Summary summarize(const Bundle& bundle, const RunResult& run, const std::optional<Verdict>& verdict,
                  const Calibration* calibration) {
  Summary s;
  s.model = bundle.plan.name;
  s.type = types_of(bundle.graph);
  s.device = run.device;
  s.verdict = verdict;
  s.predicted_s = bundle.total.seconds;
  s.low_s = bundle.total.low;
  s.high_s = bundle.total.high;
  s.measured = run.total;
  s.plan_s = bundle.plan_s;
  s.build_s = bundle.build_s + run.build_s;
  s.kept_waiting = run.kept_waiting;
  s.as_probed = run.as_probed;
  s.batches = run.batches;
  put_operators(bundle, run, s);
  s.streamed = bundle.plan.memory > 0;
  const std::vector<TransferSum> transfers = transfer_sums(bundle.plan, bundle.transfers);
  for (size_t i = 0; i < transfers.size(); ++i) {
    const TransferSum& t = transfers[i];
    s.transfers.push_back({t.download, t.count, t.bytes, t.estimate.seconds, t.estimate.low,
                           t.estimate.high, std::nullopt});
    if (run.transfers[i].median > 0) s.transfers.back().measured = run.transfers[i];
  }
  if (run.recorded) {
    s.recorded = RecordedSummary{*run.recorded, {}};
    if (const auto e = recorded_total(bundle.plan, bundle.profile, bundle.api))
      s.recorded->predicted = Span{e->seconds, e->low, e->high};
  }
  put_traffic(bundle, run, s);
  if (run.as_probed) put_as_it_ran(bundle, *run.as_probed, s);
  if (calibration != nullptr) put_calibrated(bundle, run, *calibration, s);
  return s;
}

double prediction_error(double predicted_s, double measured_s) {
  return predicted_s / measured_s - 1;
}

double mean_error(const Summary& s, bool as_it_ran) {
  double sum = 0, count = 0;
  for (const OperatorSummary& o : s.operators) {
    if (o.left_out) continue;
    ++count;
    sum += std::abs(prediction_error(
        as_it_ran && o.as_it_ran ? o.as_it_ran->seconds : o.predicted_s, o.measured.median));
  }
  return count > 0 ? sum / count : 0;
}

Json to_json(const Summary& s) {
  Json operators = Json::array();
  for (const OperatorSummary& o : s.operators) {
    operators.push_back({{"name", o.name},
                         {"label", o.label},
                         {"predicted_s", o.predicted_s},
                         {"interval_s", {o.low_s, o.high_s}},
                         {"measured_s", o.measured.median},
                         {"measured_quartiles_s", {o.measured.low, o.measured.high}},
                         {"bound", o.bound}});
    if (o.left_out) operators.back()["left_out"] = true;
    if (o.calibrated) operators.back()["calibrated"] = to_json(*o.calibrated);
    if (o.as_it_ran) operators.back()["as_it_ran"] = to_json(*o.as_it_ran);
    if (!o.traffic.empty()) operators.back()["traffic"] = to_json(o.traffic);
  }
  Json out = {{"model", s.model}, {"type", s.type}, {"device", s.device}};
  if (!s.inputs.empty()) out["inputs"] = s.inputs;
  out["verified"] = s.verdict ? Json(s.verdict->verified) : Json(nullptr);
  out["max_relative_error"] =
      s.verdict ? number_or_null(s.verdict->max_relative_error) : Json(nullptr);
  out["checked_against"] = s.verdict ? Json(s.verdict->against) : Json(nullptr);
  out["predicted_s"] = s.predicted_s;
  out["interval_s"] = {s.low_s, s.high_s};
  out["measured_s"] = s.measured.median;
  out["measured_quartiles_s"] = {s.measured.low, s.measured.high};
  out["plan_s"] = s.plan_s;
  out["build_s"] = s.build_s;
  out["kept_waiting"] = s.kept_waiting;
  out["as_probed"] = s.as_probed ? to_json(*s.as_probed) : Json(nullptr);
  out["batches"] = s.batches;
  if (s.as_it_ran) out["as_it_ran"] = to_json(*s.as_it_ran);
  if (s.calibrated) out["calibrated"] = to_json(*s.calibrated);
  if (s.recorded) {
    out["recorded"] = {
        {"measured_s", s.recorded->measured.median},
        {"measured_quartiles_s", {s.recorded->measured.low, s.recorded->measured.high}}};
    if (s.recorded->predicted) out["recorded"].update(to_json(*s.recorded->predicted));
  }
  if (!s.traffic.empty()) out["traffic"] = to_json(s.traffic);
  out["operators"] = operators;
  for (const TransferSummary& t : s.transfers)
    out["transfers"].push_back(
        {{"way", t.download ? "download" : "upload"},
         {"count", t.count},
         {"bytes", t.bytes},
         {"predicted_s", t.predicted_s},
         {"interval_s", {t.low_s, t.high_s}},
         {"measured_s", t.measured ? Json(t.measured->median) : Json(nullptr)}});
  return out;
}

}  // namespace assay::toolkit
