#include "compiler/schedule/phases.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

double fastest(const PhaseProblem& p, size_t step) {
  const double seconds = p.steps[step].seconds;
  return p.others.empty() ? seconds : std::min(seconds, p.others[step].seconds);
}

// Per step, the longest path from its begin to the end of all, each step of it a launch.
std::vector<double> paths_to_end(const PhaseProblem& p) {
  std::vector<double> out(p.steps.size());
  for (size_t s = p.steps.size(); s-- > 0;) {
    out[s] += p.launch + fastest(p, s);
    for (const int before : p.dependencies[s]) out[at(before)] = std::max(out[at(before)], out[s]);
  }
  return out;
}

// Steps of one phase, all with one or with the other of their programs.
struct Side {
  double longest = 0, work = 0;  // s
  int kind = 0;
  bool possible = true;  // steps are of one kind
  double seconds() const {
    return possible ? std::max(longest, work) : std::numeric_limits<double>::infinity();
  }
  void add(const PhaseProblem::Step& step, bool first) {
    possible = possible && (first || kind == step.kind);
    kind = step.kind;
    longest = std::max(longest, step.seconds);
    work += step.work;
  }
};

struct Phase {
  Side own, other;
  bool empty = true;
  double seconds() const { return std::min(own.seconds(), other.seconds()); }
  void add(const PhaseProblem& p, int s) {
    own.add(p.steps[at(s)], empty);
    if (p.others.empty())
      other.possible = false;
    else
      other.add(p.others[at(s)], empty);
    empty = false;
  }
};

Phase with(Phase phase, const PhaseProblem& p, int step) {
  phase.add(p, step);
  return phase;
}

Phase phase_of(const PhaseProblem& p, const std::vector<int>& steps) {
  Phase out;
  for (const int s : steps) out.add(p, s);
  return out;
}

}  // namespace

std::vector<std::vector<int>> phases(const PhaseProblem& p) {
  const std::vector<double> paths = paths_to_end(p);
  std::vector<int> order(p.steps.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](int s) { return paths[at(s)]; });
  std::vector<Phase> all;               // by number
  std::vector<std::vector<int>> steps;  // of each
  std::vector<int> in_time;             // numbers
  std::vector<int> place;               // of each number in it
  std::vector<int> dealt(p.steps.size(), -1);
  for (const int s : order) {
    size_t earliest = 0;
    for (const int before : p.dependencies[at(s)])
      earliest = std::max(earliest, at(place[at(dealt[at(before)])]) + 1);
    double least = p.launch + fastest(p, at(s));
    int best = -1;
    for (size_t i = earliest; i < in_time.size(); ++i) {
      const Phase& phase = all[at(in_time[i])];
      const double grown = p.beside + with(phase, p, s).seconds() - phase.seconds();
      if (grown < least) least = grown, best = in_time[i];
    }
    if (best < 0) {
      best = static_cast<int>(all.size());
      all.emplace_back();
      steps.emplace_back();
      in_time.insert(in_time.begin() + static_cast<ptrdiff_t>(earliest), best);
      place.resize(all.size());
      for (size_t i = earliest; i < in_time.size(); ++i)
        place[at(in_time[i])] = static_cast<int>(i);
    }
    all[at(best)].add(p, s);
    steps[at(best)].push_back(s);
    dealt[at(s)] = best;
  }
  std::vector<std::vector<int>> out;
  for (const int number : in_time) {
    out.push_back(std::move(steps[at(number)]));
    std::ranges::sort(out.back());
  }
  return out;
}

bool takes_others(const PhaseProblem& p, const std::vector<int>& phase) {
  const Phase whole = phase_of(p, phase);
  return whole.other.seconds() < whole.own.seconds();
}

double beyond_longest(const PhaseProblem& p, const std::vector<std::vector<int>>& phases) {
  double out = 0;
  for (const std::vector<int>& steps : phases) {
    const Side own = phase_of(p, steps).own;
    out += std::max(0.0, own.work - own.longest);
  }
  return out;
}

double longest_path(const PhaseProblem& p) {
  const std::vector<double> paths = paths_to_end(p);
  return paths.empty() ? 0 : std::ranges::max(paths);
}

double least_work(const PhaseProblem& p) {
  double work = 0;
  std::vector<int> chains(p.steps.size(), 1);  // steps of the longest one that ends here
  for (size_t s = 0; s < p.steps.size(); ++s) {
    work += p.others.empty() ? p.steps[s].work : std::min(p.steps[s].work, p.others[s].work);
    for (const int before : p.dependencies[s])
      chains[s] = std::max(chains[s], chains[at(before)] + 1);
  }
  return work + p.launch * (chains.empty() ? 0 : std::ranges::max(chains));
}

}  // namespace assay::compiler
