#include "compiler/schedule/widths.h"

#include <algorithm>
#include <limits>
#include <map>
#include <ranges>

#include "compiler/schedule/dependencies.h"
#include "simulator/step_widths.h"

namespace assay::compiler {

namespace {

constexpr double kApart = 1.25;  // of a width that is offered to the next narrower one

size_t at(int i) { return static_cast<size_t>(i); }

// The fewest units of which none has more groups than some does of `units`.
int narrowest(int64_t groups, int units) {
  const int64_t most = (groups + units - 1) / units;
  return static_cast<int>((groups + most - 1) / most);
}

// Ascending; the first is 1, the last all units.
std::vector<int> widths_that_pay(int64_t groups, int units) {
  std::vector<int> out = {units};
  if (const int as_fast = narrowest(groups, units); as_fast < units) out.push_back(as_fast);
  while (out.back() > 1)
    out.push_back(narrowest(groups, std::max(1, static_cast<int>(out.back() / kApart))));
  std::ranges::reverse(out);
  return out;
}

// Those that most steps want, where they are more than a problem has.
std::vector<int> all_widths(const std::vector<std::vector<int>>& wanted, int units) {
  std::map<int, int> steps;
  for (const std::vector<int>& of : wanted)
    for (const int w : of) ++steps[w];
  std::vector<std::pair<int, int>> by_steps(steps.begin(), steps.end());
  std::ranges::stable_sort(by_steps, std::ranges::greater(), [&](const std::pair<int, int>& w) {
    return w.first == 1 || w.first == units ? std::numeric_limits<int>::max() : w.second;
  });
  by_steps.resize(std::min(by_steps.size(), kMostWidths));
  std::vector<int> out;
  for (const auto& [width, _] : by_steps) out.push_back(width);
  std::ranges::sort(out);
  return out;
}

void find_own_parts(ListProblem& problem, TouchedParts& parts) {
  problem.own_parts.resize(problem.dependencies.size());
  problem.may_be_own.resize(problem.dependencies.size());
  for (size_t s = 0; s < problem.dependencies.size(); ++s)
    for (const int before : problem.dependencies[s]) {
      uint64_t own = 0;
      bool may_be = false;
      for (size_t w = 0; w < problem.widths.size(); ++w) {
        const int units = problem.widths[w];
        const bool offered = std::max(problem.seconds[s][w], problem.seconds[at(before)][w]) <
                             std::numeric_limits<double>::infinity();
        if (units == 1 || !offered || !parts.are_own(before, static_cast<int>(s), units)) continue;
        may_be = true;
        if (units <= TouchedParts::kMostUnits) own |= uint64_t{1} << w;
      }
      problem.own_parts[s].push_back(own);
      problem.may_be_own[s].push_back(may_be);
    }
}

}  // namespace

ListProblem list_problem(const ir::Plan& plan, const model::Machine& m, TouchedParts& parts) {
  std::vector<std::vector<int>> wanted;
  for (const ir::Step& step : plan.steps)
    wanted.push_back(widths_that_pay(ir::group_count(plan.programs[at(step.program)]), plan.units));
  ListProblem out;
  out.units = plan.units;
  out.widths = all_widths(wanted, plan.units);
  for (std::vector<int>& of : wanted)
    std::erase_if(of, [&](int w) { return !std::ranges::binary_search(out.widths, w); });
  const std::vector<std::vector<double>> seconds = simulator::step_widths(plan, m, wanted);
  for (size_t s = 0; s < wanted.size(); ++s) {
    std::vector<double>& row =
        out.seconds.emplace_back(out.widths.size(), std::numeric_limits<double>::infinity());
    for (size_t w = 0; w < wanted[s].size(); ++w)
      row[static_cast<size_t>(std::ranges::lower_bound(out.widths, wanted[s][w]) -
                              out.widths.begin())] = seconds[s][w];
  }
  out.dependencies = dependencies_of(plan);
  out.hand_off = m.launch.value;
  find_own_parts(out, parts);
  return out;
}

}  // namespace assay::compiler
