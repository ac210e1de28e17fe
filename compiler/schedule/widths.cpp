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

constexpr double kNotOffered = std::numeric_limits<double>::infinity();

// Per step and width, whether units need nothing of each other where both steps are so wide.
void find_own_parts(ListProblem& problem, TouchedParts& parts) {
  const size_t steps = problem.dependencies.size();
  problem.own_parts.resize(steps);
  problem.may_be_own.resize(steps);
  for (size_t s = 0; s < steps; ++s) {
    problem.own_parts[s].assign(problem.dependencies[s].size(), 0);
    problem.may_be_own[s].assign(problem.dependencies[s].size(), false);
  }
  for (size_t w = 0; w < problem.widths.size(); ++w) {
    const int units = problem.widths[w];
    if (units == 1) continue;
    std::vector<int> programs;
    for (size_t s = 0; s < steps; ++s) programs.push_back(problem.programs[s][w]);
    parts.take(programs);
    for (size_t s = 0; s < steps; ++s)
      for (size_t d = 0; d < problem.dependencies[s].size(); ++d) {
        const int before = problem.dependencies[s][d];
        if (std::max(problem.seconds[s][w], problem.seconds[at(before)][w]) == kNotOffered ||
            !parts.are_own(before, static_cast<int>(s), units))
          continue;
        problem.may_be_own[s][d] = true;
        if (units <= TouchedParts::kMostUnits) problem.own_parts[s][d] |= uint64_t{1} << w;
      }
  }
}

// Per step, the widths at which one of its programs is worth a look.
using Wanted = std::vector<std::vector<int>>;

// Of the programs at one position of each step's; a step that has fewer has no width.
Wanted wanted_of(const ir::Plan& plan, std::span<const std::vector<int>> programs,
                 size_t position) {
  Wanted out(programs.size());
  for (size_t s = 0; s < programs.size(); ++s)
    if (position < programs[s].size())
      out[s] =
          widths_that_pay(ir::group_count(plan.programs[at(programs[s][position])]), plan.units);
  return out;
}

// Where steps are faster with these programs, they have them.
void offer(ListProblem& problem, const ir::Plan& plan, const model::Machine& m,
           std::span<const std::vector<int>> programs, size_t position, Wanted wanted) {
  ir::Plan tried = plan;
  for (size_t s = 0; s < programs.size(); ++s) {
    std::erase_if(wanted[s], [&](int w) { return !std::ranges::binary_search(problem.widths, w); });
    tried.steps[s].program = programs[s][std::min(position, programs[s].size() - 1)];
  }
  const std::vector<std::vector<double>> seconds = simulator::step_widths(tried, m, wanted);
  for (size_t s = 0; s < wanted.size(); ++s)
    for (size_t i = 0; i < wanted[s].size(); ++i) {
      const auto w = static_cast<size_t>(std::ranges::lower_bound(problem.widths, wanted[s][i]) -
                                         problem.widths.begin());
      if (seconds[s][i] >= problem.seconds[s][w]) continue;
      problem.seconds[s][w] = seconds[s][i];
      problem.programs[s][w] = tried.steps[s].program;
    }
}

}  // namespace

ListProblem list_problem(const ir::Plan& plan, const model::Machine& m, TouchedParts* parts,
                         std::span<const std::vector<int>> programs) {
  std::vector<Wanted> wanted;  // by position
  for (const std::vector<int>& of : programs)
    while (wanted.size() < of.size()) wanted.push_back(wanted_of(plan, programs, wanted.size()));
  Wanted all;
  for (const Wanted& of : wanted) all.insert(all.end(), of.begin(), of.end());
  ListProblem out;
  out.units = plan.units;
  out.widths = all_widths(all, plan.units);
  for (const std::vector<int>& of : programs) {
    out.seconds.emplace_back(out.widths.size(), kNotOffered);
    out.programs.emplace_back(out.widths.size(), of.front());
  }
  for (size_t i = 0; i < wanted.size(); ++i) offer(out, plan, m, programs, i, std::move(wanted[i]));
  out.dependencies = dependencies_of(plan);
  out.hand_off = m.launch.value;
  if (parts != nullptr) find_own_parts(out, *parts);
  return out;
}

ListProblem list_problem(const ir::Plan& plan, const model::Machine& m, TouchedParts* parts) {
  std::vector<std::vector<int>> programs;
  for (const ir::Step& s : plan.steps) programs.push_back({s.program});
  return list_problem(plan, m, parts, programs);
}

}  // namespace assay::compiler
