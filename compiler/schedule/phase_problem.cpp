#include "compiler/schedule/phase_problem.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/schedule/widths.h"
#include "simulator/step_widths.h"

namespace assay::compiler {

namespace {

WidthOption of_least_work(const std::vector<WidthOption>& options) {
  return std::ranges::min(options, {}, &WidthOption::work);
}

std::vector<PhaseProblem::Step> phase_steps(const ListProblem& problem,
                                            const WidthOptions& options) {
  std::vector<PhaseProblem::Step> out;
  for (size_t s = 0; s < options.size(); ++s)
    out.push_back({problem.seconds[s].back(), of_least_work(options[s]).work() / problem.units, 0});
  return out;
}

}  // namespace

PhaseProblem phase_problem(const ir::Plan& plan, const model::Machine& m) {
  const ListProblem problem = list_problem(plan, m, nullptr);
  PhaseProblem out;
  out.steps = phase_steps(problem, width_options(problem));
  out.dependencies = problem.dependencies;
  out.launch = m.launch.value;
  out.beside = m.merges ? 0 : m.beside_launch.value;
  return out;
}

std::vector<int> put_others(PhaseProblem& problem, const Offered& o, const model::Machine& m) {
  const ListProblem list = list_problem(o.plan, m, nullptr, o.steps);
  const WidthOptions options = width_options(list);
  std::vector<int> programs;
  for (size_t s = 0; s < o.steps.size(); ++s)
    programs.push_back(list.programs[s][of_least_work(options[s]).width]);
  ir::Plan tried = o.plan;
  take_programs(tried, programs);
  const std::vector<std::vector<double>> alone =
      simulator::step_widths(tried, m, std::vector(o.steps.size(), std::vector{tried.units}));
  problem.others = phase_steps(list, options);
  for (size_t s = 0; s < alone.size(); ++s) problem.others[s].seconds = alone[s][0];
  return programs;
}

void put_kinds(std::vector<PhaseProblem::Step>& steps, const Offered& o,
               std::span<const int> programs, Alike alike) {
  std::map<std::tuple<double, double, double, int>, int> known;
  for (size_t s = 0; s < programs.size(); ++s) {
    const int p = programs[s];
    const model::GroupNeeds& n = o.needs[static_cast<size_t>(p)];
    const bool all = alike != Alike::threads;
    const auto key = std::tuple{n.threads, all ? n.registers_per_thread : 0,
                                all ? n.scratch_bytes : 0, alike == Alike::program ? p : -1};
    steps[s].kind = known.emplace(key, static_cast<int>(known.size())).first->second;
  }
}

}  // namespace assay::compiler
