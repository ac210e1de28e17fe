#include "toolkit/summary.h"

#include <cmath>

namespace assay::toolkit {
namespace {

// JSON has no infinity: a result without any right value has no error to report.
Json number_or_null(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

}  // namespace

Summary summarize(const Bundle& bundle, const RunResult& run,
                  const std::optional<Verdict>& verdict) {
  Summary s;
  s.model = bundle.plan.name;
  s.device = run.device;
  s.verdict = verdict;
  s.predicted_s = bundle.total.seconds;
  s.low_s = bundle.total.low;
  s.high_s = bundle.total.high;
  s.measured = run.total;
  s.plan_s = bundle.plan_s;
  s.build_s = bundle.build_s + run.build_s;
  for (size_t i = 0; i < bundle.plan.steps.size(); ++i) {
    const model::Estimate& e = bundle.estimates[i];
    s.operators.push_back(
        {bundle.plan.steps[i].name, e.seconds, e.low, e.high, run.steps[i], e.bound});
  }
  return s;
}

double prediction_error(double predicted_s, double measured_s) {
  return predicted_s / measured_s - 1;
}

Json to_json(const Summary& s) {
  Json operators = Json::array();
  for (const OperatorSummary& o : s.operators)
    operators.push_back({{"name", o.name},
                         {"predicted_s", o.predicted_s},
                         {"interval_s", {o.low_s, o.high_s}},
                         {"measured_s", o.measured.median},
                         {"measured_quartiles_s", {o.measured.low, o.measured.high}},
                         {"bound", o.bound}});
  Json out = {{"model", s.model}, {"device", s.device}};
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
  out["operators"] = operators;
  return out;
}

}  // namespace assay::toolkit
