#include "compiler/search/cover.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace assay::compiler {

namespace {

struct State {
  std::set<int> taken;  // of the parts that are still to come
  double seconds = 0, bound = 0;
  std::vector<int> chosen = {};  // positions of sets

  double at_least() const { return seconds + bound; }
};

// Of equal sums, that of fewer sets. Sums in another order are equal.
bool is_better(const State& a, const State& b) {
  constexpr double kEqual = 1e-9;
  const double difference = a.seconds - b.seconds;
  if (std::abs(difference) > kEqual * b.seconds) return difference < 0;
  return a.chosen.size() < b.chosen.size();
}

bool is_disjoint(const std::vector<int>& parts, const std::set<int>& taken) {
  return std::none_of(parts.begin(), parts.end(), [&](int p) { return taken.contains(p); });
}

}  // namespace

std::vector<int> best_cover(int parts, const std::vector<CoverSet>& sets,
                            const std::vector<double>& bound, int beam) {
  std::vector<std::vector<int>> ends_at(static_cast<size_t>(parts));
  for (size_t s = 0; s < sets.size(); ++s)
    ends_at[static_cast<size_t>(sets[s].parts.back())].push_back(static_cast<int>(s));
  State none;
  for (const double b : bound) none.bound += b;
  std::vector<State> states = {std::move(none)};
  for (int last = parts - 1; last >= 0; --last) {
    std::map<std::set<int>, State> next;
    const auto reach = [&](State s) {
      const auto [found, fresh] = next.try_emplace(s.taken, s);
      if (!fresh && is_better(s, found->second)) found->second = std::move(s);
    };
    for (State& s : states) {
      if (s.taken.erase(last) > 0) {
        reach(std::move(s));
        continue;
      }
      for (const int c : ends_at[static_cast<size_t>(last)]) {
        const CoverSet& set = sets[static_cast<size_t>(c)];
        if (!is_disjoint(set.parts, s.taken)) continue;
        State t = s;
        t.seconds += set.seconds;
        t.chosen.push_back(c);
        for (const int p : set.parts) {
          t.bound -= bound[static_cast<size_t>(p)];
          if (p != last) t.taken.insert(p);
        }
        reach(std::move(t));
      }
    }
    states.clear();
    for (auto& [taken, s] : next) states.push_back(std::move(s));
    std::sort(states.begin(), states.end(),
              [](const State& a, const State& b) { return a.at_least() < b.at_least(); });
    if (static_cast<int>(states.size()) > beam) states.resize(static_cast<size_t>(beam));
  }
  return states.front().chosen;
}

}  // namespace assay::compiler
