#include "compiler/schedule/list_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

double fastest(const std::vector<double>& seconds) { return std::ranges::min(seconds); }

// Unit seconds.
double least_work(const ListProblem& p, size_t step) {
  double out = std::numeric_limits<double>::infinity();
  for (size_t w = 0; w < p.widths.size(); ++w)
    out = std::min(out, p.widths[w] * p.seconds[step][w]);
  return out;
}

std::vector<double> bottom_levels(const ListProblem& p) {
  std::vector<double> out(p.seconds.size(), 0);
  for (size_t s = out.size(); s-- > 0;) {
    out[s] += fastest(p.seconds[s]);
    for (const int before : p.dependencies[s]) out[at(before)] = std::max(out[at(before)], out[s]);
  }
  return out;
}

class ListScheduler {  // invariant: refers to a problem that outlives it
 public:
  ListScheduler(const ListProblem& p, double efficiency)
      : p_(p),
        efficiency_(efficiency),
        levels_(bottom_levels(p)),
        free_(at(p.units), 0),
        out_(p.seconds.size()),
        readers_(p.seconds.size()),
        missing_(p.seconds.size()) {
    for (size_t s = 0; s < p.seconds.size(); ++s) {
      missing_[s] = p.dependencies[s].size();
      for (const int before : p.dependencies[s])
        readers_[at(before)].push_back(static_cast<int>(s));
    }
  }

  std::vector<Assigned> run() {
    for (size_t s = 0; s < missing_.size(); ++s)
      if (missing_[s] == 0) make_ready(static_cast<int>(s));
    while (!ready_.empty()) {
      const int s = ready_.begin()->second;
      assign(s);
      ready_.erase(ready_.begin());
      ready_work_ -= least_work(p_, at(s));
      for (const int r : readers_[at(s)])
        if (--missing_[at(r)] == 0) make_ready(r);
    }
    return std::move(out_);
  }

 private:
  void make_ready(int s) {
    ready_.insert({-levels_[at(s)], s});
    ready_work_ += least_work(p_, at(s));
  }

  bool may_be(int s, size_t width) const {
    const std::vector<double>& seconds = p_.seconds[at(s)];
    const double least = least_work(p_, at(s)), work = p_.widths[width] * seconds[width];
    if (width == 0 || least >= efficiency_ * work) return true;
    return p_.widths[width] <= std::round(p_.units * least / ready_work_);
  }

  // When all that it waits for has reached units [first, last).
  double ready_at(int s, int first, int last) const {
    double out = 0;
    for (const int before : p_.dependencies[at(s)]) {
      const Assigned& b = out_[at(before)];
      const bool same_unit = last - first == 1 && b.first == first && b.last == last;
      out = std::max(out, b.end + (same_unit ? 0 : p_.hand_off));
    }
    return out;
  }

  void assign(int s) {
    Assigned best;
    best.end = std::numeric_limits<double>::infinity();
    for (size_t w = 0; w < p_.widths.size(); ++w) {
      if (!may_be(s, w)) continue;
      const int width = p_.widths[w];
      for (int first = 0; first + width <= p_.units; first += width) {
        double begin = ready_at(s, first, first + width);
        for (int u = first; u < first + width; ++u) begin = std::max(begin, free_[at(u)]);
        const double end = begin + p_.seconds[at(s)][w];
        if (end < best.end) best = {first, first + width, begin, end};
      }
    }
    for (int u = best.first; u < best.last; ++u) free_[at(u)] = best.end;
    out_[at(s)] = best;
  }

  const ListProblem& p_;
  const double efficiency_;
  const std::vector<double> levels_;
  std::vector<double> free_;  // per unit
  std::vector<Assigned> out_;
  std::vector<std::vector<int>> readers_;
  std::vector<size_t> missing_;
  std::set<std::pair<double, int>> ready_;  // by bottom level, largest first
  double ready_work_ = 0;
};

}  // namespace

std::vector<Assigned> list_schedule(const ListProblem& problem, double efficiency) {
  return ListScheduler(problem, efficiency).run();
}

ScheduleBounds bounds_of(const ListProblem& problem) {
  ScheduleBounds out;
  for (const double level : bottom_levels(problem))
    out.critical_path = std::max(out.critical_path, level);
  for (size_t s = 0; s < problem.seconds.size(); ++s) out.work += least_work(problem, s);
  out.work /= problem.units;
  return out;
}

}  // namespace assay::compiler
