#include "toolkit/validate_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "toolkit/statistics.h"

namespace assay::toolkit {
namespace {

using Rows = std::vector<const ProgramRow*>;

template <class Keep>
Rows rows_where(const Rows& of, const Keep& keep) {
  Rows out;
  for (const ProgramRow* r : of)
    if (keep(*r)) out.push_back(r);
  return out;
}

// Drawn programs with the right values.
Rows drawn_rows(const OperatorRows& o) {
  Rows all;
  for (const ProgramRow& r : o.rows) all.push_back(&r);
  return rows_where(all,
                    [](const ProgramRow& r) { return r.drawn != Drawn::neighbour && !r.wrong; });
}

Errors errors_of(const Rows& rows) {
  Errors out;
  out.programs = static_cast<int>(rows.size());
  if (rows.empty()) return out;
  std::vector<double> errors, sizes, widths;
  double inside = 0;
  for (const ProgramRow* r : rows) {
    const model::Estimate& e = r->estimate;
    errors.push_back(error_of(*r));
    sizes.push_back(std::abs(errors.back()));
    widths.push_back((e.high - e.low) / 2 / e.seconds);
    inside += e.low <= r->measured && r->measured <= e.high ? 1 : 0;
  }
  out.mape = mean(sizes);
  out.median = median(sizes);
  out.p90 = quantile_of(sizes, 0.9);
  out.bias = mean(errors);
  out.coverage = inside / static_cast<double>(rows.size());
  out.half_width = median(widths);
  return out;
}

void rank(const Rows& rows, OperatorScore& out) {
  std::vector<double> predicted, measured, predicted_good, measured_good;
  double best = std::numeric_limits<double>::max();
  for (const ProgramRow* r : rows) best = std::min(best, r->measured);
  for (const ProgramRow* r : rows) {
    predicted.push_back(r->estimate.seconds);
    measured.push_back(r->measured);
    if (r->measured > kGood * best) continue;
    predicted_good.push_back(r->estimate.seconds);
    measured_good.push_back(r->measured);
  }
  out.good = static_cast<int>(measured_good.size());
  out.spearman = spearman(predicted, measured);
  if (out.good >= 3) out.kendall_good = kendall(predicted_good, measured_good);
}

OperatorScore score_operator(const OperatorRows& o) {
  OperatorScore out;
  out.name = o.name;
  const Rows rows = drawn_rows(o);
  out.all = errors_of(rows);
  rank(rows, out);
  out.best_s = std::numeric_limits<double>::infinity();
  for (const ProgramRow& r : o.rows) {
    ++out.measured;
    out.wrong += r.wrong ? 1 : 0;
    if (r.wrong) continue;
    out.best_s = std::min(out.best_s, r.measured);
    if (!r.first) continue;
    out.first_s = r.measured;
    out.first_error = error_of(r);
  }
  if (out.first_error) out.regret = out.first_s / out.best_s;
  return out;
}

std::vector<Regime> regimes_of(const Rows& rows) {
  struct Bounds {
    const char* name;
    double from, to;
  };
  static constexpr Bounds kBounds[] = {{"< 10 us", 0, 10e-6},
                                       {"10-50 us", 10e-6, 50e-6},
                                       {"> 50 us", 50e-6, std::numeric_limits<double>::infinity()}};
  std::vector<Regime> out;
  for (const Bounds& b : kBounds) {
    const Rows in = rows_where(
        rows, [&](const ProgramRow& r) { return r.measured >= b.from && r.measured < b.to; });
    out.push_back({b.name, errors_of(in),
                   errors_of(rows_where(in, [](const ProgramRow& r) { return r.first; }))});
  }
  return out;
}

Json or_null(const Figure& f) { return f && std::isfinite(*f) ? Json(*f) : Json(nullptr); }

Json to_json(const Errors& e) {
  return {{"programs", e.programs},
          {"mape", or_null(e.mape)},
          {"median", or_null(e.median)},
          {"p90", or_null(e.p90)},
          {"bias", or_null(e.bias)},
          {"coverage", or_null(e.coverage)},
          {"half_width_median", or_null(e.half_width)}};
}

Json to_json(const OperatorScore& o) {
  return {{"name", o.name},
          {"programs", o.all.programs},
          {"measured", o.measured},
          {"wrong", o.wrong},
          {"first_error", or_null(o.first_error)},
          {"first_s", o.first_s},
          {"best_s", o.best_s},
          {"mape_all", or_null(o.all.mape)},
          {"bias", or_null(o.all.bias)},
          {"spearman", or_null(o.spearman)},
          {"kendall_good", or_null(o.kendall_good)},
          {"good", o.good},
          {"regret", or_null(o.regret)},
          {"coverage", or_null(o.all.coverage)},
          {"half_width_median", or_null(o.all.half_width)}};
}

}  // namespace

double error_of(const ProgramRow& row) { return row.estimate.seconds / row.measured - 1; }

Score score_of(const Validation& v) {
  Score s;
  Rows rows;
  std::vector<double> spearmans, kendalls, regrets, ratios;
  double samples = 0, disturbed = 0;
  for (const OperatorRows& o : v.operators) {
    s.operators.push_back(score_operator(o));
    const OperatorScore& score = s.operators.back();
    if (score.spearman) spearmans.push_back(*score.spearman);
    if (score.kendall_good) kendalls.push_back(*score.kendall_good);
    if (score.regret) regrets.push_back(*score.regret);
    s.measured += score.measured;
    s.wrong += score.wrong;
    s.spent.choose += o.spent.choose;
    s.spent.reference += o.spent.reference;
    s.spent.build += o.spent.build;
    s.spent.run += o.spent.run;
    const Rows drawn = drawn_rows(o);
    rows.insert(rows.end(), drawn.begin(), drawn.end());
    for (const ProgramRow& r : o.rows) {
      samples += 1;
      disturbed += r.disturbed;
      if (r.fma_rate > 0 && v.fma_rate > 0) ratios.push_back(r.fma_rate / v.fma_rate);
    }
  }
  s.all = errors_of(rows);
  s.first = errors_of(rows_where(rows, [](const ProgramRow& r) { return r.first; }));
  s.best_tenth =
      errors_of(rows_where(rows, [](const ProgramRow& r) { return r.drawn == Drawn::best_tenth; }));
  s.uniform =
      errors_of(rows_where(rows, [](const ProgramRow& r) { return r.drawn == Drawn::uniform; }));
  s.regimes = regimes_of(rows);
  s.spearman_median = median(spearmans);
  s.kendall_good_median = median(kendalls);
  s.regret_geomean = geometric_mean(regrets);
  s.disturbed = samples > 0 ? disturbed / samples : 0;
  s.multiply_add_ratio = median(ratios);
  return s;
}

Json figures(const Score& s) {
  return {{"mape", or_null(s.first.mape)},       {"mape_all", or_null(s.all.mape)},
          {"coverage", or_null(s.all.coverage)}, {"half_width_median", or_null(s.all.half_width)},
          {"first", to_json(s.first)},           {"best_tenth", to_json(s.best_tenth)},
          {"uniform", to_json(s.uniform)}};
}

Json to_json(const Validation& v, const Score& s) {
  Json operators = Json::array(), regimes = Json::array();
  for (const OperatorScore& o : s.operators) operators.push_back(to_json(o));
  for (const Regime& r : s.regimes)
    regimes.push_back({{"name", r.name}, {"all", to_json(r.all)}, {"first", to_json(r.first)}});
  Json out = {{"suite", v.suite},
              {"profile", v.profile},
              {"device", v.device},
              {"complete", static_cast<int>(v.operators.size()) == v.total},
              {"measured", s.measured},
              {"wrong", s.wrong},
              {"spearman_median", or_null(s.spearman_median)},
              {"kendall_good_median", or_null(s.kendall_good_median)},
              {"regret_geomean", or_null(s.regret_geomean)}};
  out.update(figures(s));
  out["regimes"] = regimes;
  out["disturbed"] = s.disturbed;
  out["pace"] = or_null(s.multiply_add_ratio);
  out["seconds"] = {{"choose", s.spent.choose},
                    {"reference", s.spent.reference},
                    {"build", s.spent.build},
                    {"run", s.spent.run}};
  out["operators"] = operators;
  return out;
}

std::string print_csv(const Validation& v) {
  std::string out =
      "operator,program,drawn,first,predicted_s,low_s,high_s,measured_s,quickest_s,slowest_s,error,"
      "bound,samples,disturbed,wrong,parameters\n";
  for (const OperatorRows& o : v.operators)
    for (const ProgramRow& r : o.rows)
      out += fmt::format(
          "{},{},{},{:d},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.4f},{},{},{:.2f},{:d},\"{}"
          "\"\n",
          o.name, r.id, name_of(r.drawn), r.first, r.estimate.seconds, r.estimate.low,
          r.estimate.high, r.measured, r.quick, r.slow, error_of(r), r.estimate.bound, r.samples,
          r.disturbed, r.wrong, r.parameters);
  return out;
}

}  // namespace assay::toolkit
