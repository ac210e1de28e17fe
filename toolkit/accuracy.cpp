#include "toolkit/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "support/hash.h"
#include "toolkit/accuracy_bars.h"
#include "toolkit/accuracy_intervals.h"
#include "toolkit/accuracy_points.h"
#include "toolkit/accuracy_programs.h"
#include "toolkit/estimate_operators.h"
#include "toolkit/profiles.h"
#include "toolkit/roofline.h"

namespace assay::toolkit {
namespace {

class Study {
 public:
  Study(const Reference& reference, const AccuracyOptions& options)
      : reference_(reference), options_(options) {}

  Result<Accuracy> run() {
    for (const ReferenceTable& t : reference_.tables) {
      if (!t.not_estimated.empty()) {
        if (wanted(t)) note(t, "not estimated: " + t.not_estimated);
        continue;
      }
      Diags diags = t.programs.empty() ? estimate(t) : estimate_programs(t);
      if (!diags.empty()) return diags;
    }
    for (const Measured& m : measured_)
      for (const Point& p : m.points) ratios_.add(m.table->device, p.kind, p.measured, p.predicted);
    add_intervals();
    for (const Measured& m : measured_) {
      if (!wanted(*m.table)) continue;
      shown_.push_back(&m);
      add_rows(m);
      add_table(m);
    }
    std::move(programs_.begin(), programs_.end(), std::back_inserter(out_.tables));
    add_bars();
    out_.residuals = residuals();
    return std::move(out_);
  }

 private:
  bool wanted(const ReferenceTable& t) const {
    return options_.device.empty() || t.device == options_.device;
  }

  void note(const ReferenceTable& t, std::string message) {
    Diag d = error(std::move(message));
    d.severity = Severity::note;
    d.file = t.file;
    out_.notes.push_back(std::move(d));
  }

  Diags estimate(const ReferenceTable& t) {
    const Result<hwdesc::Profile> profile = load_profile(t.device);
    if (!profile) return profile.diags();
    EstimateOptions options;
    options.software = Software::library;
    options.launch = t.launch;
    options.warm = t.warm;
    const auto estimator = OperatorEstimator::open(*profile, options);
    if (!estimator) return estimator.diags();
    Measured m{&t, {}, 0};
    for (size_t i = 0; i < t.rows.size(); ++i) {
      if (cancelled(options_.cancel)) return {error("cancelled")};
      if (i % 500 == 0)
        report(options_.progress, static_cast<int64_t>(i), static_cast<int64_t>(t.rows.size()),
               t.file);
      add_point(t.rows[i], *estimator, m);
    }
    measured_.push_back(std::move(m));
    return {};
  }

  Diags estimate_programs(const ReferenceTable& t) {
    if (!wanted(t)) return {};
    AccuracyTable table{t.device, t.group, t.role, 0, {}};
    Result<ProgramAccuracy> a = program_accuracy(t, options_, table.points);
    if (!a) return a.diags();
    out_.programs.push_back(std::move(*a));
    programs_.push_back(std::move(table));
    return {};
  }

  // A chip's efficiency is a part of what its maker says, so that is what is carried to others.
  double bandwidth_of(const ReferenceTable& t, const OperatorEstimator& estimator) const {
    const auto nominal = reference_.bandwidths.find(t.device);
    return nominal == reference_.bandwidths.end() ? estimator.bandwidth() : nominal->second;
  }

  void add_point(const ReferenceRow& row, const OperatorEstimator& estimator, Measured& m) {
    const Result<ir::Graph> graph = OperatorEstimator::graph_of(row.op, row.type);
    const Result<GraphEstimate> e =
        graph ? estimator.estimate(*graph) : Result<GraphEstimate>(graph.diags());
    if (!e) {
      ++m.refused;
      if (said_.insert(m.table->file).second)
        for (Diag d : e.diags()) {
          d.severity = Severity::note;
          d.file = m.table->file;
          out_.notes.push_back(std::move(d));
        }
      return;
    }
    Point p;
    p.measured = row.seconds;
    p.predicted = e->total.seconds;
    p.kind = e->operators.front().kind;
    p.roofline = roofline_input(work_of(*graph), estimator.peak_flops(row.type),
                                bandwidth_of(*m.table, estimator), row.seconds);
    m.points.push_back(std::move(p));
  }

  RooflineConstants constants_of(const std::string& file) {
    const auto known = constants_.find(file);
    if (known != constants_.end()) return known->second;
    std::vector<RooflineInput> rows;
    for (const Measured& m : measured_)
      if (m.table->file == file)
        for (const Point& p : m.points) rows.push_back(p.roofline);
    return constants_[file] = fit_roofline(rows);
  }

  // From devices other than the table's own.
  void add_intervals() {
    using Place = std::tuple<std::string, size_t, std::string>;  // class, regime, device
    std::map<Place, Span> spans;
    for (Measured& m : measured_)
      for (Point& p : m.points) {
        const size_t regime = regime_of(p.predicted);
        const auto [found, fresh] = spans.try_emplace(Place{p.kind, regime, m.table->device});
        if (fresh) found->second = ratios_.of(p.kind, regime, m.table->device);
        p.interval = found->second;
      }
  }

  void add_table(const Measured& m) {
    AccuracyTable t{m.table->device, m.table->group, m.table->role, m.refused, {}};
    for (const Point& p : m.points)
      t.points.push_back(
          {p.measured, p.predicted, p.predicted * p.interval.low, p.predicted * p.interval.high});
    out_.tables.push_back(std::move(t));
  }

  void add_rows(const Measured& m) {
    double above = 0;
    add_row(m, 0, std::numeric_limits<double>::infinity());
    for (const double end : kRegimes) {
      add_row(m, above, end);
      above = end;
    }
  }

  void add_row(const Measured& m, double above, double below) {
    AccuracyRow row;
    row.device = m.table->device;
    row.group = m.table->group;
    row.role = m.table->role;
    row.carried = m.table->baseline != m.table->file;
    row.above = above;
    row.below = below;
    row.refused = m.refused;
    const RooflineConstants c = constants_of(m.table->baseline);
    row.model = summary(m.points, above, below, [](const Point& p) { return p.predicted; });
    if (row.model.n == 0) return;
    row.datasheet =
        summary(m.points, above, below, [](const Point& p) { return roofline(p.roofline); });
    row.constants =
        summary(m.points, above, below, [&](const Point& p) { return roofline(p.roofline, c); });
    int64_t inside = 0;
    std::vector<double> widths;
    for (const Point& p : m.points) {
      if (p.measured <= above || p.measured > below) continue;
      inside += int64_t{covered(p)};
      widths.push_back(half_width(p));
    }
    row.coverage = static_cast<double>(inside) / static_cast<double>(row.model.n);
    row.half_width = median(widths);
    out_.rows.push_back(std::move(row));
  }

  void add_bars() {
    for (const ReferenceBar& b : reference_.bars) reference_bars(b, shown_, out_);
    baseline_bars(out_);
    coverage_bars(shown_, out_);
    width_bars(shown_, out_);
  }

  std::string residuals() const {
    std::string hashes;
    for (const Measured& m : measured_) {
      std::string text;
      for (const ReferenceRow& r : m.table->rows)
        text += fmt::format("{},{},{}\n", r.op, r.type, r.seconds);
      hashes += fmt::format("  - {{file: {}, hash: {}}}\n", m.table->file, hash_hex(text));
    }
    std::string out =
        "# Written by `assay accuracy --residuals`; do not edit.\nschema: assay/residuals/1\n"
        "method: >-\n"
        "  quantiles 5 and 95 % of measured / predicted of a new device, by class and regime of "
        "the "
        "estimate;\n"
        "  offset and spread by Student's prediction from those of the devices, each of equal "
        "weight\n"
        "tables:\n" +
        hashes + "quantiles:\n" + ratios_.quantiles();
    return out;
  }

  const Reference& reference_;
  const AccuracyOptions& options_;
  std::vector<Measured> measured_;
  std::vector<const Measured*> shown_;  // of these
  std::map<std::string, RooflineConstants> constants_;
  DeviceRatios ratios_;
  std::vector<AccuracyTable> programs_;
  std::set<std::string> said_;
  Accuracy out_;
};

}  // namespace

std::string regime_name(const AccuracyRow& r) {
  if (std::isinf(r.below)) return "all";
  return r.below > 1 ? fmt::format("above {:.0f} us", r.above * 1e6)
                     : fmt::format("to {:.0f} us", r.below * 1e6);
}

std::string role_name(Role r) { return r == Role::fit ? "fit" : "judge"; }

std::string figure_text(const AccuracyBar& b, double v) {
  return b.share ? fmt::format("{:.1f} %", 100 * v) : fmt::format("{:.3f}", v);
}

ErrorSummary summary_of(std::span<const double> predicted, std::span<const double> measured) {
  std::vector<double> errors;
  ErrorSummary s;
  for (size_t i = 0; i < predicted.size(); ++i) {
    const double e = predicted[i] / measured[i] - 1;
    s.bias += e;
    errors.push_back(std::abs(e));
  }
  s.n = static_cast<int64_t>(errors.size());
  if (errors.empty()) return s;
  std::sort(errors.begin(), errors.end());
  for (const double e : errors) s.mean += e;
  s.mean /= static_cast<double>(s.n);
  s.bias /= static_cast<double>(s.n);
  s.median = errors[errors.size() / 2];
  s.worst_tenth = errors[errors.size() * 9 / 10];
  return s;
}

Result<Accuracy> accuracy(const Reference& reference, const AccuracyOptions& options) {
  return Study(reference, options).run();
}

}  // namespace assay::toolkit
