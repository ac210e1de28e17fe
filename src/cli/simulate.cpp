// assay simulate
#include "toolkit/simulate.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "console/options.h"
#include "console/report.h"
#include "console/table.h"
#include "files/files.h"
#include "simulator/estimate.h"
#include "toolkit/estimate_json.h"
#include "toolkit/profiles.h"

namespace assay::cli {
namespace {

using toolkit::Json;

struct Request {
  std::string path, profile;
  std::vector<std::string> overrides;
  bool explain = false;
  toolkit::SimulateOptions simulate;
};

void declare(Options& options, Request& r) {
  options.add_option("PATH", r.path, "a bundle's directory, a plan or a program").required();
  options.add_option("--profile", r.profile,
                  "a file, or a name of the library; a bundle's own when not given")
      .type_name("PROFILE");
  options.add_option("--api", r.simulate.api, "of the profile; its first when not given")
      .type_name("NAME");
  options.add_flag("--cold", r.simulate.cold, "of a program: the caches hold nothing of it");
  options.add_flag("--explain", r.explain, "every term behind each time");
  options.add_overrides(r.overrides);
  options.add_format();
}

Result<toolkit::Simulation> simulate(const Request& r) {
  if (r.profile.empty() && !directory_exists(r.path))
    return error("--profile is needed: only a bundle's directory has its own");
  Result<hwdesc::Profile> profile =
      r.profile.empty() ? toolkit::profile_of_bundle(r.path) : toolkit::load_profile(r.profile);
  if (profile) profile = toolkit::apply_overrides(std::move(*profile), r.overrides);
  if (!profile) return profile.diags();
  return toolkit::simulate(r.path, *profile, r.simulate);
}

Json to_json(const toolkit::Simulation& s) {
  Json steps = Json::array();
  for (size_t i = 0; i < s.steps.size(); ++i) {
    Json step = {{"name", s.steps[i]}};
    step.update(toolkit::to_json(s.estimates[i]));
    steps.push_back(std::move(step));
  }
  return {{"name", s.name},
          {"profile", s.profile},
          {"total", toolkit::to_json(s.total)},
          {"steps", steps}};
}

std::vector<std::string> row(const std::string& name, const model::Estimate& e) {
  const double gflops = e.seconds > 0 ? e.flops / e.seconds * 1e-9 : 0;
  return {shortened(name, 32), duration(e.seconds), duration(e.low) + " .. " + duration(e.high),
          fmt::format("{:.1f}", gflops), e.bound};
}

void print_text(const toolkit::Simulation& s, bool explain) {
  std::vector<std::vector<std::string>> rows = {
      {"step", "estimate", "interval", "Gflop/s", "bound"}};
  for (size_t i = 0; i < s.steps.size(); ++i) rows.push_back(row(s.steps[i], s.estimates[i]));
  if (s.steps.size() > 1) rows.push_back(row("total", s.total));
  fmt::print("{} on {}\n{}", s.name, s.profile, table(rows));
  if (!explain) return;
  for (size_t i = 0; i < s.steps.size(); ++i)
    fmt::print("\n{}\n{}", s.steps[i], simulator::explain(s.estimates[i]));
}

}  // namespace

ExitCode run_simulate(const Command& self, std::span<const std::string> arguments,
                      const Context& context) {
  Request request;
  Options options(self);
  declare(options, request);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<toolkit::Simulation> simulation = simulate(request);
  if (!simulation) return failed(simulation.diags(), context);
  if (options.format() == Format::json)
    print_json(to_json(*simulation));
  else
    print_text(*simulation, request.explain);
  return ExitCode::ok;
}

}  // namespace assay::cli
