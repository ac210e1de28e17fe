// assay simulate
#include "toolkit/simulate.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cli/calibration_option.h"
#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/step_rows.h"
#include "support/files/files.h"
#include "toolkit/estimate_json.h"
#include "toolkit/profiles.h"
#include "toolkit/trace.h"

namespace assay::cli {
namespace {

using toolkit::Json;

struct Request {
  std::string path, profile, calibration, trace;
  std::vector<std::string> overrides;
  bool explain = false;
  toolkit::SimulateOptions simulate;
};

void declare(Options& options, Request& r) {
  options.add_option("PATH", r.path, "directory of a bundle, plan, or program").required();
  options
      .add_option("--profile", r.profile,
                  "file, or name in the library (default: the bundle's own)")
      .type_name("PROFILE");
  options
      .add_option("--api", r.simulate.api, "api of the profile (default: the bundle's, or first)")
      .type_name("NAME");
  options.add_flag("--rechoose", r.simulate.rechoose,
                   "of a bundle: choose its programs anew, for this profile");
  options.add_flag("--cold", r.simulate.cold, "of a program: with cold caches");
  options.add_flag("--recorded", r.simulate.recorded,
                   "one launch of all kernels, recorded as a graph");
  options
      .add_option("--calibration", r.calibration,
                  "also print calibrated estimates; see `assay calibrate`")
      .type_name("FILE.yaml");
  options
      .add_option("--trace", r.trace,
                  "of a plan: also write what each unit does when, for Perfetto")
      .type_name("FILE.json");
  options.add_flag("--explain", r.explain, "print the terms of each estimate");
  options.add_overrides(r.overrides);
  options.add_format();
}

struct Simulated {
  toolkit::Simulation simulation;
  std::vector<toolkit::Span> calibrated;  // per step; none: no calibration was given
};

// With the calibrated times of each step.
Result<Simulated> calibrated(toolkit::Simulation s, const hwdesc::Profile& profile,
                             const std::string& path) {
  const Result<toolkit::Calibration> calibration = load_calibration_for(path, profile, s.api);
  if (!calibration) return calibration.diags();
  Simulated out{std::move(s), {}};
  for (size_t i = 0; i < out.simulation.steps.size(); ++i)
    out.calibrated.push_back(
        toolkit::calibrated(*calibration, out.simulation.classes[i], out.simulation.estimates[i]));
  return out;
}

Diags write_trace(const std::string& path, const toolkit::Simulation& s) {
  if (path.empty()) return {};
  if (s.slices.empty())
    return {error("--trace is of plans without transfers, and " + s.name + " is none")};
  const toolkit::TraceProcess predicted{"predicted, " + s.profile, s.slices, s.estimates};
  return write_text(path, toolkit::print_trace(std::span(&predicted, 1)));
}

Result<Simulated> simulate(Request& r, const Context& context) {
  if (Diags unwritable = r.trace.empty() ? Diags{} : check_writable(r.trace); !unwritable.empty())
    return unwritable;
  std::error_code ignored;
  if (!std::filesystem::exists(r.path, ignored)) {
    Diag d = error("there is no such file");
    d.file = r.path;
    return d;
  }
  if (r.profile.empty() && !directory_exists(r.path))
    return error("--profile is needed: only a bundle's directory has its own");
  Result<hwdesc::Profile> profile =
      r.profile.empty() ? toolkit::profile_of_bundle(r.path) : toolkit::load_profile(r.profile);
  if (profile) profile = toolkit::apply_overrides(std::move(*profile), r.overrides);
  if (!profile) return profile.diags();
  ProgressLine progress(context);
  r.simulate.progress = progress.callback();
  r.simulate.cancel = context.cancel;
  Result<toolkit::Simulation> simulation = toolkit::simulate(r.path, *profile, r.simulate);
  if (!simulation) return simulation.diags();
  if (Diags unwritten = write_trace(r.trace, *simulation); !unwritten.empty()) return unwritten;
  if (r.calibration.empty()) return Simulated{std::move(*simulation), {}};
  return calibrated(std::move(*simulation), *profile, r.calibration);
}

Json to_json(const toolkit::Span& s) {
  return {{"seconds", s.seconds}, {"low", s.low}, {"high", s.high}};
}

bool left_out(const toolkit::Simulation& s, size_t step) {
  return !s.left_out.empty() && s.left_out[step];
}

// The calibrated times of the steps that run.
std::vector<toolkit::Span> those_that_run(const Simulated& simulated) {
  std::vector<toolkit::Span> out;
  for (size_t i = 0; i < simulated.calibrated.size(); ++i)
    if (!left_out(simulated.simulation, i)) out.push_back(simulated.calibrated[i]);
  return out;
}

Json to_json(const Simulated& simulated) {
  const toolkit::Simulation& s = simulated.simulation;
  Json steps = Json::array();
  for (size_t i = 0; i < s.steps.size(); ++i) {
    Json step = {{"name", s.steps[i]}, {"label", s.labels[i]}};
    step.update(toolkit::to_json(s.estimates[i]));
    if (!simulated.calibrated.empty()) step["calibrated"] = to_json(simulated.calibrated[i]);
    if (left_out(s, i)) step["left_out"] = true;
    steps.push_back(std::move(step));
  }
  Json total = toolkit::to_json(s.total), transfers = Json::array();
  std::vector<toolkit::Span> all = those_that_run(simulated);
  for (const toolkit::TransferSum& t : s.transfers) {
    all.push_back({t.estimate.seconds, t.estimate.low, t.estimate.high});
    transfers.push_back({{"way", t.download ? "download" : "upload"},
                         {"count", t.count},
                         {"bytes", t.bytes},
                         {"seconds", t.estimate.seconds}});
  }
  if (!simulated.calibrated.empty()) total["calibrated"] = to_json(toolkit::sum_of(all));
  Json out = {{"name", s.name},
              {"profile", s.profile},
              {"chosen_for", s.chosen_for},
              {"total", total},
              {"steps", steps}};
  if (s.streamed) out["transfers"] = transfers;
  if (s.schedule)
    out["schedule"] = {{"busy", s.schedule->busy},
                       {"launches", s.schedule->phases},
                       {"critical_path_s", s.schedule->bounds.critical_path},
                       {"work_s", s.schedule->bounds.work},
                       {"both_s", s.schedule->bounds.both}};
  return out;
}

std::string interval(double low, double high) { return duration(low) + " .. " + duration(high); }

std::vector<std::string> row(const std::string& name, const toolkit::Estimate& e,
                             const toolkit::Span* calibrated) {
  const double gflops = e.seconds > 0 ? e.flops / e.seconds * 1e-9 : 0;
  std::vector<std::string> out = {shortened(name, kLabelWidth), duration(e.seconds),
                                  interval(e.low, e.high), fmt::format("{:.1f}", gflops), e.bound};
  if (calibrated != nullptr)
    out.insert(out.end(),
               {duration(calibrated->seconds), interval(calibrated->low, calibrated->high)});
  return out;
}

void add(toolkit::Estimate& to, const toolkit::Estimate& e) {
  to.seconds += e.seconds;
  to.low += e.low;
  to.high += e.high;
  to.flops += e.flops;
}

void print_schedule(const toolkit::ScheduleSummary& s, size_t steps, double seconds) {
  const double least = s.bounds.least();
  if (s.phases > 0) {
    fmt::print(
        "{} steps in {} launches; no launches of these programs take less than {} (longest path "
        "{}, work {}), {:.0f} % below\n",
        steps, s.phases, duration(least), duration(s.bounds.critical_path), duration(s.bounds.work),
        100 * (1 - least / seconds));
    return;
  }
  fmt::print(
      "steps side by side: units are busy {:.0f} % of the time; no schedule of these "
      "programs takes less than {} (longest path {}, work {}, both at once {}), {:.0f} % below\n",
      100 * s.busy, duration(least), duration(s.bounds.critical_path), duration(s.bounds.work),
      duration(s.bounds.both), 100 * (1 - least / seconds));
}

void print_text(const Simulated& simulated, bool explain) {
  const toolkit::Simulation& s = simulated.simulation;
  std::vector<std::vector<std::string>> rows = {
      {"step", "estimate", "interval", "Gflop/s", "bound"}};
  const bool both = !simulated.calibrated.empty();
  if (both) rows[0].insert(rows[0].end(), {"calibrated", "interval"});
  for (const std::vector<size_t>& alike : step_rows(s.labels, s.streamed)) {
    toolkit::Estimate sum = s.estimates[alike[0]];
    std::vector<toolkit::Span> spans;
    bool none = true;  // of them runs
    for (const size_t i : alike) {
      if (i != alike[0]) add(sum, s.estimates[i]);
      if (both && !left_out(s, i)) spans.push_back(simulated.calibrated[i]);
      none = none && left_out(s, i);
    }
    const toolkit::Span span = toolkit::sum_of(spans);
    rows.push_back(
        row(label_of_row(s.labels[alike[0]], alike.size()), sum, both ? &span : nullptr));
    if (none) rows.back()[4] = "left out";
  }
  std::vector<toolkit::Span> all = those_that_run(simulated);
  for (const toolkit::TransferSum& t : s.transfers) {
    const toolkit::Span span{t.estimate.seconds, t.estimate.low, t.estimate.high};
    all.push_back(span);
    rows.push_back(
        row(label_of_transfers(t.download, t.count, t.bytes), t.estimate, both ? &span : nullptr));
  }
  toolkit::Span total = toolkit::sum_of(all);
  if (s.schedule) {  // steps overlap
    double sum = 0;
    for (size_t i = 0; i < s.estimates.size(); ++i)
      if (!left_out(s, i)) sum += s.estimates[i].seconds;
    const double scale = sum > 0 ? s.total.seconds / sum : 1;
    for (double* t : {&total.seconds, &total.low, &total.high}) *t *= scale;
  }
  if (s.steps.size() > 1) rows.push_back(row("total", s.total, both ? &total : nullptr));
  const bool others = !s.chosen_for.empty() && s.chosen_for != s.profile;
  fmt::print("{} on {}{}\n{}", s.name, s.profile,
             others ? ", programs chosen for " + s.chosen_for : "", table(rows));
  if (const auto n = std::ranges::count(s.left_out, true))
    fmt::print("{} steps are left out: of each condition the branch that takes less\n", n);
  if (s.schedule) print_schedule(*s.schedule, s.steps.size(), s.total.seconds);
  if (!explain) return;
  for (const std::vector<size_t>& alike : step_rows(s.labels, s.streamed)) {
    const size_t i = alike[0];
    fmt::print("\n{}\n{}{}", s.labels[i], s.mappings[i], toolkit::explanation(s.estimates[i]));
  }
}

}  // namespace

ExitCode run_simulate(const Command& self, std::span<const std::string> arguments,
                      const Context& context) {
  Request request;
  Options options(self);
  declare(options, request);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<Simulated> simulation = simulate(request, context);
  if (!simulation) return failed(simulation.diags(), context);
  if (options.format() == Format::json)
    print_json(to_json(*simulation));
  else
    print_text(*simulation, request.explain);
  print_diags(simulation->simulation.notes);
  return ExitCode::ok;
}

}  // namespace assay::cli
