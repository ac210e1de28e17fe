#include "toolkit/simulate.h"

#include <algorithm>

#include "lower/legal.h"
#include "lower/lower.h"
#include "model/machine.h"
#include "simulator/estimate.h"
#include "support/files/files.h"
#include "toolkit/bundle.h"
#include "toolkit/calibration.h"
#include "toolkit/profiles.h"

namespace assay::toolkit {
namespace {

Simulation simulate_plan(const ir::Plan& plan, const model::Machine& machine) {
  simulator::PlanEstimate estimate = simulator::simulate(plan, machine);
  Simulation s;
  s.name = plan.name;
  for (const ir::Step& step : plan.steps) {
    s.steps.push_back(step.name);
    s.labels.push_back(ir::display_name(step));
    s.classes.push_back(class_of(plan.programs[static_cast<size_t>(step.program)]));
  }
  s.estimates = std::move(estimate.steps);
  s.total = std::move(estimate.total);
  return s;
}

// Exact counts where the program can be lowered, else the closed forms.
Simulation simulate_program(const ir::Program& p, const model::Machine& machine,
                            const hwdesc::Target& target, bool cold) {
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  simulator::CacheState state;
  if (!cold) state = simulator::after(p, machine, {}, where);
  Diags illegal = lower::legal(p, target);
  Result<ir::Kernel> kernel =
      illegal.empty() ? lower::lower(p, target) : Result<ir::Kernel>(illegal);
  lower::Counts counts;
  if (kernel) counts = lower::count(*kernel);
  Simulation s;
  s.notes = std::move(illegal);
  for (Diag& d : s.notes) {
    d.severity = Severity::warning;
    d.message = "no kernel of this program can run there: " + d.message;
  }
  s.name = p.name;
  s.steps = s.labels = {p.name};
  s.classes = {class_of(p)};
  s.total = simulator::estimate(p, machine, state, where, kernel ? &counts : nullptr);
  s.estimates = {s.total};
  return s;
}

// A target whose launches take as long as recorded ones.
Result<hwdesc::Target> recorded(hwdesc::Target target) {
  const std::string base = "apis." + target.api.name;
  if (target.api.device_barrier.known())
    return error(base + ".device_barrier: a plan is one launch there, and nothing is recorded");
  if (!target.api.launch.graph.known())
    return error(base + ".launch.graph is unknown in " + target.profile.name,
                 "`assay probe` measures the time of a recorded launch");
  target.api.launch.stream = target.api.launch.graph;
  return target;
}

Result<hwdesc::Target> target_for(const hwdesc::Profile& profile, const SimulateOptions& options) {
  Result<hwdesc::Target> target = target_of(profile, options.api);
  return target && options.recorded ? recorded(std::move(*target)) : target;
}

// A plan names its schema.
bool is_plan(const std::string& text) {
  return text.find("schema: assay/plan/") != std::string::npos;
}

}  // namespace

Result<Simulation> simulate(const std::string& path, const hwdesc::Profile& profile,
                            const SimulateOptions& options) {
  const std::string file = directory_exists(path) ? path + "/" + kPlanFile : path;
  const Result<std::string> text = read_text(file);
  if (!text) return text.diags();
  const Result<hwdesc::Target> target = target_for(profile, options);
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  Result<Simulation> out = error("");
  if (is_plan(*text)) {
    const Result<ir::Plan> plan = ir::parse_plan(*text, file);
    if (!plan) return plan.diags();
    out = simulate_plan(*plan, *machine);
  } else {
    const Result<ir::Program> program = ir::parse_program(*text, file);
    if (!program) return program.diags();
    out = simulate_program(*program, *machine, *target, options.cold);
  }
  out->profile = profile.name;
  out->api = target->api.name;
  return out;
}

Result<model::Estimate> recorded_total(const ir::Plan& plan, const hwdesc::Profile& profile,
                                       const std::string& api) {
  const Result<hwdesc::Target> one_by_one = target_of(profile, api);
  if (!one_by_one) return one_by_one.diags();
  const Result<hwdesc::Target> target = recorded(*one_by_one);
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  model::Estimate total = simulator::simulate(plan, *machine).total;
  const hwdesc::Launch& launch = one_by_one->api.launch;
  if (!launch.eager.known() || !launch.stream.known()) return total;
  const double outside = std::max(0.0, launch.eager.value->v - launch.stream.value->v);
  for (double* s : {&total.seconds, &total.low, &total.high}) *s += outside;
  return total;
}

std::string explanation(const Estimate& estimate) { return simulator::explain(estimate); }

Result<hwdesc::Profile> profile_of_bundle(const std::string& directory) {
  return load_profile(directory + "/profile.yaml");
}

}  // namespace assay::toolkit
