#include "toolkit/calibrate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "hwdesc/print.h"
#include "ir/program.h"
#include "support/files/files.h"
#include "support/hash.h"
#include "toolkit/statistics.h"
#include "toolkit/validate_journal.h"

namespace assay::toolkit {
namespace {

constexpr double kWeightOfAll = 10;  // programs
constexpr double kOutside = 0.05;    // of the programs, on each side
constexpr double kLeastEnd = 1e-3;   // least distance of an interval's end from ln(estimate)

struct Point {
  std::string class_name, op;
  double y = 0;                 // ln(measured / estimate)
  double below = 0, above = 0;  // logarithms of the model's interval
};

Result<std::string> class_of_row(const std::string& op, const ProgramRow& row) {
  const Result<ir::Program> p = ir::parse_program(row.program, op);
  if (!p) return p.diags();
  return class_of(*p);
}

Result<std::vector<Point>> points_of(const std::vector<OperatorRows>& operators) {
  std::vector<Point> out;
  for (const OperatorRows& o : operators)
    for (const ProgramRow& r : o.rows) {
      if (r.wrong || r.drawn == Drawn::neighbour || r.measured <= 0 || r.estimate.seconds <= 0)
        continue;
      const Result<std::string> name = class_of_row(o.name, r);
      if (!name) return name.diags();
      const model::Estimate& e = r.estimate;
      out.push_back({*name, o.name, std::log(r.measured / e.seconds),
                     std::max(kLeastEnd, std::log(e.seconds / std::max(e.low, 1e-3 * e.seconds))),
                     std::max(kLeastEnd, std::log(e.high / e.seconds))});
    }
  return out;
}

struct Fitted {
  double middle = 0, below = 1, above = 1;
};

double end_of(const std::vector<const Point*>& points, double middle, double sign,
              double Point::*end) {
  std::vector<double> beyond;
  for (const Point* p : points) beyond.push_back(std::max(0.0, sign * (p->y - middle)) / p->*end);
  return quantile_of(std::move(beyond), 1 - kOutside);
}

// `all`: what to shrink towards; nullptr: nothing.
Fitted fit(const std::vector<const Point*>& points, const Fitted* all) {
  const double n = static_cast<double>(points.size());
  const auto drawn = [&](double own, double of_all) {
    return all == nullptr ? own : (n * own + kWeightOfAll * of_all) / (n + kWeightOfAll);
  };
  std::vector<double> y;
  for (const Point* p : points) y.push_back(p->y);
  Fitted out;
  out.middle = drawn(quantile_of(std::move(y), 0.5), all == nullptr ? 0 : all->middle);
  out.below = drawn(end_of(points, out.middle, -1, &Point::below), all == nullptr ? 0 : all->below);
  out.above = drawn(end_of(points, out.middle, 1, &Point::above), all == nullptr ? 0 : all->above);
  return out;
}

Correction correction(const Fitted& f, const std::vector<const Point*>& points) {
  const auto rounded = [](double x) { return std::round(x * 1000) / 1000; };  // as it is written
  std::set<std::string> operators;
  for (const Point* p : points) operators.insert(p->op);
  return {std::max(1e-3, rounded(std::exp(f.middle))), rounded(f.below), rounded(f.above),
          static_cast<int>(points.size()), static_cast<int>(operators.size())};
}

// Pre: at least one point.
std::map<std::string, Correction> corrections(const std::vector<const Point*>& points) {
  std::map<std::string, std::vector<const Point*>> classes;
  for (const Point* p : points) classes[p->class_name].push_back(p);
  const Fitted all = fit(points, nullptr);
  std::map<std::string, Correction> out;
  for (const auto& [name, own] : classes) out[name] = correction(fit(own, &all), own);
  out[kAnyClass] = correction(all, points);
  return out;
}

std::vector<const Point*> other_than(const std::vector<Point>& points,
                                     const std::string* left_out) {
  std::vector<const Point*> out;
  for (const Point& p : points)
    if (left_out == nullptr || p.op != *left_out) out.push_back(&p);
  return out;
}

Diags put_calibrated(OperatorRows& rows, const Calibration& c) {
  for (ProgramRow& r : rows.rows) {
    const Result<std::string> name = class_of_row(rows.name, r);
    if (!name) return name.diags();
    const Span s = calibrated(c, *name, r.estimate);
    r.estimate.seconds = s.seconds;
    r.estimate.low = s.low;
    r.estimate.high = s.high;
  }
  return {};
}

Result<std::vector<Point>> enough_points(const std::vector<OperatorRows>& operators) {
  Result<std::vector<Point>> points = points_of(operators);
  if (!points) return points;
  if (std::all_of(points->begin(), points->end(),
                  [&](const Point& p) { return p.op == points->front().op; }))
    return error("times of at least two operators are needed", "`assay validate` takes them");
  return points;
}

}  // namespace

Result<Calibration> calibrate(const std::vector<OperatorRows>& operators) {
  const Result<std::vector<Point>> points = enough_points(operators);
  if (!points) return points.diags();
  Calibration out;
  out.classes = corrections(other_than(*points, nullptr));
  out.programs = out.classes[kAnyClass].programs;
  out.operators = out.classes[kAnyClass].operators;
  return out;
}

Result<Validation> calibrated(Validation v, const Calibration& c) {
  for (OperatorRows& o : v.operators)
    if (Diags failed = put_calibrated(o, c); !failed.empty()) return failed;
  return v;
}

Result<FromJournals> calibrate_from(const hwdesc::Profile& profile,
                                    const std::vector<std::string>& journals,
                                    const std::string& api, const Progress& progress,
                                    const CancelToken* cancel) {
  FromJournals out;
  std::string texts;
  std::optional<RunIdentity> first;
  for (const std::string& path : journals) {
    const Result<KeptValidation> kept = read_kept_validation(path);
    if (!kept) return kept.diags();
    if (!first) first = kept->run;
    if (kept->run.device != first->device || kept->run.api != first->api)
      return error(path + " is of " + kept->run.device + " (" + kept->run.api + "), " +
                       journals[0] + " of " + first->device + " (" + first->api + ")",
                   "one calibration is of one device through one api");
    const Result<std::string> text = read_text(path, kMaxDataBytes);
    if (!text) return text.diags();
    texts += *text;
    Result<Validation> judged = judge_again(profile, path, api, progress, cancel);
    if (!judged) return judged.diags();
    if (cancelled(cancel)) return error("interrupted");
    out.plain.total += judged->total;
    out.plain.api = judged->api;
    std::move(judged->operators.begin(), judged->operators.end(),
              std::back_inserter(out.plain.operators));
  }
  out.plain.suite = journals[0];
  out.plain.profile = profile.name;
  out.plain.device = first->device;
  Result<Calibration> fitted = calibrate(out.plain.operators);
  if (!fitted) return fitted.diags();
  out.calibration = std::move(*fitted);
  out.calibration.name = profile.name;
  out.calibration.profile = hwdesc::hash_of(profile);
  out.calibration.api = out.plain.api;
  out.calibration.device = first->device;
  out.calibration.data = hash_hex(texts);
  Result<Validation> others = calibrated_by_others(out.plain);
  if (!others) return others.diags();
  out.by_others = std::move(*others);
  return out;
}

Diags misfits(const Calibration& c, const hwdesc::Profile& profile, const std::string& api) {
  if (c.api != api)
    return {error("the calibration is for api '" + c.api + "', this is '" + api + "'",
                  "`assay calibrate` makes one from times of this api")};
  if (c.profile != hwdesc::hash_of(profile))
    return {
        {Severity::note, "", 0, 0,
         "the calibration was made with another profile, '" + c.name + "' with hash " + c.profile,
         "", ""}};
  return {};
}

Result<Validation> calibrated_by_others(const Validation& v) {
  const Result<std::vector<Point>> points = enough_points(v.operators);
  if (!points) return points.diags();
  Validation out = v;
  for (OperatorRows& o : out.operators) {
    Calibration others;
    others.classes = corrections(other_than(*points, &o.name));
    if (Diags failed = put_calibrated(o, others); !failed.empty()) return failed;
  }
  return out;
}

}  // namespace assay::toolkit
