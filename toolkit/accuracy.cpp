#include "toolkit/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "support/hash.h"
#include "toolkit/accuracy_programs.h"
#include "toolkit/estimate_operators.h"
#include "toolkit/profiles.h"
#include "toolkit/roofline.h"

namespace assay::toolkit {
namespace {

constexpr std::array<double, 4> kRegimes = {10e-6, 50e-6, 200e-6, 1e9};  // s: ends
constexpr double kTail = 0.05;  // outside of an interval on either side
constexpr size_t kFewest = 20;  // measurements behind a quantile

struct Point {  // one row of a table
  double measured = 0, predicted = 0;
  RooflineInput roofline;
  std::string kind;
};

struct Measured {
  const ReferenceTable* table = nullptr;
  std::vector<Point> points;
  int64_t refused = 0;
};

size_t regime_of(double seconds) {
  size_t r = 0;
  while (r + 1 < kRegimes.size() && seconds > kRegimes[r]) ++r;
  return r;
}

template <class Predict>
ErrorSummary summary(const std::vector<Point>& points, double above, double below,
                     const Predict& predict) {
  std::vector<double> predicted, measured;
  for (const Point& p : points) {
    if (p.measured <= above || p.measured > below) continue;
    predicted.push_back(predict(p));
    measured.push_back(p.measured);
  }
  return summary_of(predicted, measured);
}

// Quantiles of measured / predicted by class, regime and device, with the correction for finite
// samples. A new device may differ from each known one as they differ from each other, so an
// interval spans those of all devices.
class Quantiles {
 public:
  using Regimes = std::array<std::vector<double>, kRegimes.size()>;

  void add(const std::string& device, const Point& p) {
    ratios_[p.kind][device][regime_of(p.predicted)].push_back(p.measured / p.predicted);
  }

  struct Span {
    double low = 1, high = 1;
    size_t n = 0;
  };

  // Of the regime, or of the whole class where no device has enough measurements in it. Other than
  // those of `without`.
  Span of(const std::string& kind, size_t regime, const std::string& without = "") const {
    Span out;
    const auto found = ratios_.find(kind);
    if (found == ratios_.end()) return out;
    for (const bool whole : {false, true}) {
      for (const auto& [device, regimes] : found->second)
        if (device != without) widen(regimes, regime, whole, out);
      if (out.n > 0) break;
    }
    return out;
  }

  std::vector<std::string> kinds() const {
    std::vector<std::string> out;
    for (const auto& [kind, devices] : ratios_) out.push_back(kind);
    return out;
  }

 private:
  static void widen(const Regimes& regimes, size_t regime, bool whole, Span& out) {
    std::vector<double> all = regimes[regime];
    if (whole) {
      all.clear();
      for (const auto& part : regimes) all.insert(all.end(), part.begin(), part.end());
    }
    if (all.size() < kFewest) return;
    std::sort(all.begin(), all.end());
    const double n = static_cast<double>(all.size());
    const auto at = [&](double rank) {
      return all[static_cast<size_t>(std::clamp(rank, 0.0, n - 1))];
    };
    const double low = at(std::floor((n + 1) * kTail) - 1),
                 high = at(std::ceil((n + 1) * (1 - kTail)) - 1);
    out.low = out.n > 0 ? std::min(out.low, low) : low;
    out.high = out.n > 0 ? std::max(out.high, high) : high;
    out.n += all.size();
  }

  std::map<std::string, std::map<std::string, Regimes>> ratios_;  // by class, by device
};

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
      for (const Point& p : m.points) quantiles_.add(m.table->device, p);
    for (const Measured& m : measured_)
      if (wanted(*m.table)) add_rows(m);
    for (const ReferenceBar& b : reference_.bars) add_bar(b);
    add_baseline_bars();
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
    Result<ProgramAccuracy> a = program_accuracy(t, options_);
    if (!a) return a.diags();
    out_.programs.push_back(std::move(*a));
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
    std::map<std::pair<std::string, size_t>, Quantiles::Span> spans;  // each sorts thousands
    for (const Point& p : m.points) {
      if (p.measured <= above || p.measured > below) continue;
      const size_t regime = regime_of(p.predicted);
      const auto [found, fresh] = spans.try_emplace({p.kind, regime});
      if (fresh) found->second = quantiles_.of(p.kind, regime, m.table->device);
      const Quantiles::Span& s = found->second;
      const double ratio = p.measured / p.predicted;
      inside += int64_t{ratio >= s.low && ratio <= s.high};
      widths.push_back((s.high - s.low) / 2);
    }
    std::sort(widths.begin(), widths.end());
    row.coverage = static_cast<double>(inside) / static_cast<double>(row.model.n);
    row.half_width = widths[widths.size() / 2];
    out_.rows.push_back(std::move(row));
  }

  void add_bar(const ReferenceBar& b) {
    for (const Measured& m : measured_) {
      if (!wanted(*m.table) ||
          std::find(b.groups.begin(), b.groups.end(), m.table->group) == b.groups.end())
        continue;
      const ErrorSummary s = summary(m.points, b.above, std::numeric_limits<double>::infinity(),
                                     [](const Point& p) { return p.predicted; });
      if (s.n > 0)
        out_.bars.push_back({m.table->device + " " + m.table->group + ": " + b.name, s.mean,
                             b.bound, s.mean <= b.bound, b.figure});
    }
    for (const ProgramAccuracy& p : out_.programs)
      if (std::find(b.groups.begin(), b.groups.end(), p.group) != b.groups.end())
        out_.bars.push_back(bar_of(p, b));
  }

  static AccuracyBar bar_of(const ProgramAccuracy& p, const ReferenceBar& b) {
    const double value = b.figure == BarFigure::kendall         ? p.kendall
                         : b.figure == BarFigure::subset_regret ? p.subset_regret
                                                                : p.errors.mean;
    return {p.device + " " + p.group + ": " + b.name, value, b.bound,
            b.figure == BarFigure::kendall ? value >= b.bound : value <= b.bound, b.figure};
  }

  // No group is worse than the roofline whose constants another chip gave; on that chip itself by
  // at most three hundredths.
  void add_baseline_bars() {
    for (const AccuracyRow& r : out_.rows) {
      if (r.above > 0 || !std::isinf(r.below)) continue;
      const double bar = r.constants.mean + (r.carried ? 0 : 0.03);
      out_.bars.push_back({r.device + " " + r.group + ": beside the roofline with three constants",
                           r.model.mean, bar, r.model.mean <= bar, BarFigure::error});
    }
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
        "method: quantiles 5 and 95 % of measured / predicted, by class and regime of the "
        "estimate\n"
        "tables:\n" +
        hashes + "quantiles:\n";
    for (const std::string& kind : quantiles_.kinds())
      for (size_t r = 0; r < kRegimes.size(); ++r) {
        const Quantiles::Span s = quantiles_.of(kind, r);
        if (s.n == 0) continue;
        const std::string below =
            r + 1 < kRegimes.size() ? fmt::format("below: {:g} us, ", kRegimes[r] * 1e6) : "";
        out += fmt::format("  - {{class: {}, {}low: {:.4f}, high: {:.4f}, n: {}}}\n", kind, below,
                           s.low, s.high, s.n);
      }
    return out;
  }

  const Reference& reference_;
  const AccuracyOptions& options_;
  std::vector<Measured> measured_;
  std::map<std::string, RooflineConstants> constants_;
  Quantiles quantiles_;
  std::set<std::string> said_;
  Accuracy out_;
};

}  // namespace

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
