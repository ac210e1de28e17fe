#include "toolkit/accuracy_bars.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace assay::toolkit {
namespace {

// Of 90 % intervals of devices whose rows did not give them.
constexpr double kOneDevice = 0.80, kAllDevices = 0.88;  // covered
constexpr double kWidth = 2.5;  // median half-width over the class's mean error

AccuracyBar bar_of(const ProgramAccuracy& p, const ReferenceBar& b) {
  const double value = b.figure == BarFigure::kendall         ? p.kendall
                       : b.figure == BarFigure::subset_regret ? p.subset_regret
                                                              : p.errors.mean;
  const bool at_least = b.figure == BarFigure::kendall;
  return {p.device + " " + p.group + ": " + b.name,       value,    b.bound,
          at_least ? value >= b.bound : value <= b.bound, at_least, b.figure == BarFigure::error};
}

bool among(const std::vector<std::string>& groups, const std::string& group) {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

// Where no other device has measurements of a class, nothing can be said of its intervals.
template <class Visit>
void visit_intervals(const Tables& tables, const Visit& visit) {
  for (const Measured* m : tables)
    for (const Point& p : m->points)
      if (p.interval.n > 0) visit(m->table->device, p);
}

struct Count {
  double inside = 0, all = 0;
};

AccuracyBar coverage_bar(const std::string& name, const Count& c, double bar) {
  const double part = c.inside / c.all;
  return {name + ": coverage of 90 % intervals, held out", part, bar, part >= bar,
          /*at_least=*/true};
}

}  // namespace

void reference_bars(const ReferenceBar& b, const Tables& tables, Accuracy& to) {
  for (const Measured* m : tables) {
    if (!among(b.groups, m->table->group)) continue;
    const ErrorSummary s = summary(m->points, b.above, std::numeric_limits<double>::infinity(),
                                   [](const Point& p) { return p.predicted; });
    if (s.n > 0)
      to.bars.push_back({m->table->device + " " + m->table->group + ": " + b.name, s.mean, b.bound,
                         s.mean <= b.bound});
  }
  for (const ProgramAccuracy& p : to.programs)
    if (among(b.groups, p.group)) to.bars.push_back(bar_of(p, b));
}

void baseline_bars(Accuracy& to) {
  for (const AccuracyRow& r : to.rows) {
    if (r.above > 0 || !std::isinf(r.below)) continue;
    const double bar = r.constants.mean + (r.carried ? 0 : 0.03);
    to.bars.push_back({r.device + " " + r.group + ": beside the roofline with three constants",
                       r.model.mean, bar, r.model.mean <= bar});
  }
}

void coverage_bars(const Tables& tables, Accuracy& to) {
  std::map<std::string, Count> devices;
  Count all;
  visit_intervals(tables, [&](const std::string& device, const Point& p) {
    for (Count* c : {&devices[device], &all}) {
      c->inside += covered(p) ? 1 : 0;
      c->all += 1;
    }
  });
  for (const auto& [device, count] : devices)
    to.bars.push_back(coverage_bar(device, count, kOneDevice));
  if (devices.size() > 1) to.bars.push_back(coverage_bar("all devices", all, kAllDevices));
}

void width_bars(const Tables& tables, Accuracy& to) {
  struct Class {
    std::vector<double> widths;
    double errors = 0;
  };
  std::map<std::string, Class> classes;
  visit_intervals(tables, [&](const std::string&, const Point& p) {
    Class& c = classes[p.kind];
    c.widths.push_back(half_width(p));
    c.errors += std::abs(p.predicted / p.measured - 1);
  });
  for (const auto& [kind, c] : classes) {
    const double width = median(c.widths) * static_cast<double>(c.widths.size()) / c.errors;
    to.bars.push_back({"class " + kind + ": median half-width / mean error", width, kWidth,
                       width <= kWidth, /*at_least=*/false, /*share=*/false});
  }
}

}  // namespace assay::toolkit
