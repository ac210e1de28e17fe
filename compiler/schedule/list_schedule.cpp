#include "compiler/schedule/list_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

double fastest(const std::vector<double>& seconds) { return std::ranges::min(seconds); }

// Unit seconds of each step.
std::vector<double> least_works(const ListProblem& p) {
  std::vector<double> out;
  for (const std::vector<double>& seconds : p.seconds) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t w = 0; w < p.widths.size(); ++w) least = std::min(least, p.widths[w] * seconds[w]);
    out.push_back(least);
  }
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
        works_(least_works(p)),
        readers_(readers_of(p)),
        free_(at(p.units), 0),
        out_(p.seconds.size()) {
    for (const std::vector<int>& before : p.dependencies) missing_.push_back(before.size());
  }

  std::vector<Assigned> run() {
    for (size_t s = 0; s < missing_.size(); ++s)
      if (missing_[s] == 0) make_ready(static_cast<int>(s));
    while (!ready_.empty()) {
      const int s = ready_.begin()->second;
      assign(s);
      ready_.erase(ready_.begin());
      ready_work_ -= works_[at(s)];
      for (const int r : readers_[at(s)])
        if (--missing_[at(r)] == 0) make_ready(r);
    }
    return std::move(out_);
  }

 private:
  void make_ready(int s) {
    ready_.insert({-levels_[at(s)], s});
    ready_work_ += works_[at(s)];
  }

  bool may_be(int s, size_t width) const {
    const std::vector<double>& seconds = p_.seconds[at(s)];
    const double least = works_[at(s)], work = p_.widths[width] * seconds[width];
    if (width == 0 || least >= efficiency_ * work) return true;
    return p_.widths[width] <= std::round(p_.units * least / ready_work_);
  }

  // When all that it waits for is seen by all units.
  double seen_at(int s) const {
    double out = 0;
    for (const int before : p_.dependencies[at(s)])
      out = std::max(out, out_[at(before)].end + p_.hand_off);
    return out;
  }

  // And by those units, which may have run it themselves.
  double seen_on(int s, size_t width, int first, int last) const {
    double out = 0;
    for (size_t d = 0; d < p_.dependencies[at(s)].size(); ++d) {
      const Assigned& b = out_[at(p_.dependencies[at(s)][d])];
      const bool own = b.first == first && b.last == last && needs_no_hand_off(p_, at(s), d, width);
      out = std::max(out, b.end + (own ? 0 : p_.hand_off));
    }
    return out;
  }

  // Of all steps before, could one be seen earlier by those units that ran it?
  bool may_be_own(int s, int first, int last) const {
    return std::ranges::any_of(p_.dependencies[at(s)], [&](int before) {
      return out_[at(before)].first == first && out_[at(before)].last == last;
    });
  }

  void assign(int s) {
    Assigned best;
    best.end = std::numeric_limits<double>::infinity();
    const double seen = seen_at(s);
    for (size_t w = 0; w < p_.widths.size(); ++w) {
      if (p_.seconds[at(s)][w] >= best.end || !may_be(s, w)) continue;
      const int width = p_.widths[w];
      for (int first = 0; first + width <= p_.units; first += width) {
        const int last = first + width;
        double begin = may_be_own(s, first, last) ? seen_on(s, w, first, last) : seen;
        for (int u = first; u < last; ++u) begin = std::max(begin, free_[at(u)]);
        const double end = begin + p_.seconds[at(s)][w];
        if (end < best.end) best = {first, last, begin, end};
      }
    }
    for (int u = best.first; u < best.last; ++u) free_[at(u)] = best.end;
    out_[at(s)] = best;
  }

  const ListProblem& p_;
  const double efficiency_;
  const std::vector<double> levels_, works_;  // per step
  const std::vector<std::vector<int>> readers_;
  std::vector<double> free_;  // per unit
  std::vector<Assigned> out_;
  std::vector<size_t> missing_;
  std::set<std::pair<double, int>> ready_;  // by bottom level, largest first
  double ready_work_ = 0;
};

}  // namespace

std::vector<Assigned> list_schedule(const ListProblem& problem, double efficiency) {
  return ListScheduler(problem, efficiency).run();
}

}  // namespace assay::compiler
