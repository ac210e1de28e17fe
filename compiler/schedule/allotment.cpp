#include "compiler/schedule/allotment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::compiler {

namespace {

// Bounds on what is looked at, so that large plans take little longer than small ones.
constexpr size_t kMostJumped = 200'000;  // steps under all jumps
constexpr size_t kMostHubs = 40;         // steps that jumps begin or end at
constexpr size_t kMostRounds = 300, kFewestRounds = 30, kMostAnswers = 300'000;

constexpr double kNear = 1e-3;  // of the bound: widths that are as good

size_t at(int i) { return static_cast<size_t>(i); }

struct Jump {
  int from = -1, to = -1;  // steps; -1: the begin, the number of steps: the end
  std::vector<int> over;   // steps between them
};

// Steps at which most paths meet.
std::vector<int> hubs_of(const ListProblem& p, const std::vector<std::vector<int>>& readers) {
  const size_t n = readers.size();
  const auto most = static_cast<size_t>(std::sqrt(2.0 * static_cast<double>(kMostJumped / n)));
  std::vector<int> out(n);
  std::iota(out.begin(), out.end(), 0);
  std::ranges::stable_sort(out, std::ranges::greater(), [&](int s) {
    return std::min(p.dependencies[at(s)].size(), n) + readers[at(s)].size();
  });
  out.resize(std::min({n, most, kMostHubs}));
  std::ranges::sort(out);
  return out;
}

// Steps that are reached over `edges`, each of which leads up, or each down.
std::vector<bool> reached(int from, const std::vector<std::vector<int>>& edges) {
  std::vector<bool> out(edges.size(), false);
  std::vector<int> open = {from};
  while (!open.empty()) {
    const int s = open.back();
    open.pop_back();
    for (const int next : edges[at(s)])
      if (!out[at(next)]) out[at(next)] = true, open.push_back(next);
  }
  return out;
}

std::vector<Jump> jumps_of(const ListProblem& p, const std::vector<std::vector<int>>& readers) {
  const int n = static_cast<int>(readers.size());
  std::vector<int> ends = {-1};
  std::vector<std::vector<bool>> after = {std::vector<bool>(at(n), true)}, before = {{}};
  for (const int hub : hubs_of(p, readers)) {
    ends.push_back(hub);
    after.push_back(reached(hub, readers));
    before.push_back(reached(hub, p.dependencies));
  }
  ends.push_back(n);
  before.emplace_back(at(n), true);
  std::vector<Jump> out;
  for (size_t v = 1; v < ends.size(); ++v)
    for (size_t u = 0; u < v; ++u) {
      Jump jump{ends[u], ends[v], {}};
      for (int s = ends[u] + 1; s < ends[v]; ++s)
        if (after[u][at(s)] && before[v][at(s)]) jump.over.push_back(s);
      if (jump.over.size() > 1) out.push_back(std::move(jump));
    }
  return out;
}

class Game {  // invariant: refers to a problem and its options, which outlive it
 public:
  Game(const ListProblem& p, const WidthOptions& options)
      : p_(p),
        options_(options),
        jumps_(jumps_of(p, readers_of(p))),
        answer_(options.size(), 0),
        weights_(options.size()),
        ends_(options.size() + 1),
        came_(options.size() + 1),
        pays_out_(options.size(), true),
        pays_in_(options.size(), true) {
    for (size_t s = 0; s < options.size(); ++s)
      for (size_t d = 0; d < p.dependencies[s].size(); ++d)
        if (!always_hands_off(p, s, d)) pays_in_[s] = pays_out_[at(p.dependencies[s][d])] = false;
  }

  Allotment play() {
    Allotment out;
    double shortest = std::numeric_limits<double>::infinity();
    const size_t rounds = std::clamp(kMostAnswers / options_.size(), kFewestRounds, kMostRounds);
    for (size_t round = 0; round < rounds; ++round) {
      out.least = std::max(out.least, choose_widths());
      const double longest = find_path();
      if (longest < shortest) shortest = longest, out.choice = answer_;
      if (shortest <= (1 + kNear) * out.least) break;
      take_path(2.0 / static_cast<double>(round + 2));
    }
    return out;
  }

 private:
  struct Weights {  // of the mean path
    double seconds = 0, hand_offs = 0, work = 0;
  };
  struct Came {
    int from = -1;
    const Jump* jump = nullptr;
    bool pays_before = false, pays_here = false;  // hand-offs, by the widths of both ends
  };

  double cost(const WidthOption& c, const Weights& w) const {
    return w.seconds * c.seconds + (c.units > 1 ? w.hand_offs * p_.hand_off : 0) +
           w.work * c.work() / p_.units;
  }

  // The best widths against the mean path. Returns what they make of it.
  double choose_widths() {
    double sum = 0;
    for (size_t s = 0; s < options_.size(); ++s) {
      double best = std::numeric_limits<double>::infinity();
      for (size_t c = 0; c < options_[s].size(); ++c)
        if (const double now = cost(options_[s][c], weights_[s]); now < best)
          best = now, answer_[s] = static_cast<int>(c);
      sum += best;
    }
    return sum;
  }

  const WidthOption& chosen(int step) const { return options_[at(step)][at(answer_[at(step)])]; }

  // The longest path against these widths.
  double find_path() {
    const int n = static_cast<int>(options_.size());
    size_t next = 0;  // jump; by their ends
    for (int v = 0; v <= n; ++v) {
      ends_[at(v)] = 0;
      came_[at(v)] = {};
      const double hand_off = v < n && chosen(v).units > 1 ? p_.hand_off : 0;
      const auto come = [&](double end, const Came& came) {
        if (end > ends_[at(v)]) ends_[at(v)] = end, came_[at(v)] = came;
      };
      for (size_t d = 0; v < n && d < p_.dependencies[at(v)].size(); ++d) {
        const int before = p_.dependencies[at(v)][d];
        const bool pays_here = always_hands_off(p_, at(v), d);
        come(ends_[at(before)] + (pays_here ? hand_off : 0), {before, nullptr, false, pays_here});
      }
      for (int s = 0; v == n && s < n; ++s) come(ends_[at(s)], {s, nullptr, false, false});
      for (; next < jumps_.size() && jumps_[next].to == v; ++next) {
        const Jump& jump = jumps_[next];
        const bool pays_before = jump.from >= 0 && pays_out_[at(jump.from)],
                   pays_here = v < n && pays_in_[at(v)];
        double work = 0;
        for (const int s : jump.over) work += chosen(s).work();
        double end = work / p_.units + (pays_here ? hand_off : 0);
        if (jump.from >= 0) end += ends_[at(jump.from)];
        if (pays_before && chosen(jump.from).units > 1) end += p_.hand_off;
        come(end, {jump.from, &jump, pays_before, pays_here});
      }
      if (v < n) ends_[at(v)] += chosen(v).seconds;
    }
    return ends_.back();
  }

  // Into the mean.
  void take_path(double part) {
    for (Weights& w : weights_) w.seconds *= 1 - part, w.hand_offs *= 1 - part, w.work *= 1 - part;
    const int n = static_cast<int>(options_.size());
    for (int v = n; v >= 0; v = came_[at(v)].from) {
      const Came& came = came_[at(v)];
      if (v < n) weights_[at(v)].seconds += part;
      if (came.pays_here && v < n) weights_[at(v)].hand_offs += part;
      if (came.pays_before) weights_[at(came.from)].hand_offs += part;
      if (came.jump != nullptr)
        for (const int s : came.jump->over) weights_[at(s)].work += part;
    }
  }

  const ListProblem& p_;
  const WidthOptions& options_;
  const std::vector<Jump> jumps_;
  std::vector<int> answer_;       // per step, its choice
  std::vector<Weights> weights_;  // per step
  std::vector<double> ends_;      // per step and of all: of the longest path to it
  std::vector<Came> came_;
  std::vector<bool> pays_out_, pays_in_;  // per step: at all its readers, dependencies
};

}  // namespace

Allotment allotted(const ListProblem& problem, const WidthOptions& options) {
  Allotment out = Game(problem, options).play();
  out.least = std::max({out.least, longest_path(problem, options), least_work(problem, options)});
  return out;
}

std::vector<int> priced(const ListProblem& problem, const WidthOptions& options, double price) {
  std::vector<int> out;
  for (const std::vector<WidthOption>& of : options) {
    const auto cost = [&](const WidthOption& c) {
      return c.seconds + price * c.work() / problem.units;
    };
    out.push_back(static_cast<int>(std::ranges::min_element(of, {}, cost) - of.begin()));
  }
  return out;
}

double longest_path(const ListProblem& problem, const WidthOptions& options) {
  double longest = 0;
  std::vector<double> ends(options.size(), 0);
  for (size_t s = 0; s < options.size(); ++s) {
    for (const WidthOption& c : options[s]) {
      double end = c.seconds;
      for (size_t d = 0; d < problem.dependencies[s].size(); ++d) {
        const bool pays = c.units > 1 && always_hands_off(problem, s, d);
        end = std::max(
            end, ends[at(problem.dependencies[s][d])] + c.seconds + (pays ? problem.hand_off : 0));
      }
      ends[s] = &c == &options[s].front() ? end : std::min(ends[s], end);
    }
    longest = std::max(longest, ends[s]);
  }
  return longest;
}

double least_work(const ListProblem& problem, const WidthOptions& options) {
  double out = 0;
  for (const std::vector<WidthOption>& of : options)
    out += std::ranges::min(of, {}, &WidthOption::work).work();
  return out / problem.units;
}

}  // namespace assay::compiler
