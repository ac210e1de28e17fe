#include "toolkit/simulate.h"

#include "files/files.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "model/machine.h"
#include "simulator/estimate.h"
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
    s.classes.push_back(class_of(plan.programs[static_cast<size_t>(step.program)]));
  }
  s.estimates = std::move(estimate.steps);
  s.total = std::move(estimate.total);
  return s;
}

// Exact counts where the program can be lowered, else the closed forms.
Simulation simulate_program(const ir::Program& p, const model::Machine& machine,
                            const hwdesc::Target& target, bool cold) {
  const std::vector<simulator::Range> where = simulator::ranges_apart(p);
  simulator::CacheState state;
  if (!cold) state = simulator::after(p, machine, {}, where);
  Result<ir::Kernel> kernel = lower::legal(p, target).empty()
                                  ? lower::lower(p, target)
                                  : Result<ir::Kernel>(error("not legal"));
  lower::Counts counts;
  if (kernel) counts = lower::count(*kernel);
  Simulation s;
  s.name = p.name;
  s.steps = {p.name};
  s.classes = {class_of(p)};
  s.total = simulator::estimate(p, machine, state, where, kernel ? &counts : nullptr);
  s.estimates = {s.total};
  return s;
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
  const Result<hwdesc::Target> target = target_of(profile, options.api);
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

Result<hwdesc::Profile> profile_of_bundle(const std::string& directory) {
  return load_profile(directory + "/profile.yaml");
}

}  // namespace assay::toolkit
