#include "toolkit/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/schedule/schedule.h"
#include "hwdesc/print.h"
#include "lower/instruction.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "model/machine.h"
#include "simulator/estimate.h"
#include "support/files/files.h"
#include "support/yaml.h"
#include "toolkit/bundle.h"
#include "toolkit/calibration.h"
#include "toolkit/compile.h"
#include "toolkit/passed_tiles.h"
#include "toolkit/profiles.h"
#include "toolkit/schedule_limits.h"

namespace assay::toolkit {
namespace {

ScheduleSummary summary_of(const ir::Plan& plan, const model::Machine& machine,
                           const simulator::PlanEstimate& e) {
  double busy = 0;
  const std::vector<ir::Command> schedule = ir::schedule_of(plan);
  for (const simulator::Slice& s : e.timeline)
    if (schedule[static_cast<size_t>(s.command)].kind == ir::Command::Kind::run)
      busy += (s.end - s.begin) * (s.last - s.first);
  return {busy / (e.total.seconds * plan.units), compiler::schedule_bounds(plan, machine),
          plan.phases.size()};
}

Simulation simulate_plan(const ir::Plan& plan, const model::Machine& machine) {
  simulator::PlanEstimate estimate = simulator::simulate(plan, machine);
  Simulation s;
  s.name = plan.name;
  for (const ir::Step& step : plan.steps) {
    s.steps.push_back(step.name);
    s.labels.push_back(ir::display_name(step));
    s.mappings.push_back(mapping_of(plan.programs[static_cast<size_t>(step.program)]));
    s.classes.push_back(class_of(plan.programs[static_cast<size_t>(step.program)]));
  }
  if (!plan.schedule.empty() || !plan.phases.empty())
    s.schedule = summary_of(plan, machine, estimate);
  s.left_out = estimate.left_out;
  if (plan.transfers.empty()) s.slices = slices_of(plan, estimate.timeline);
  s.streamed = plan.memory > 0;
  s.transfers = transfer_sums(plan, estimate.transfers);
  s.estimates = std::move(estimate.steps);
  s.total = std::move(estimate.total);
  return s;
}

// Why the transfers of a plan have no price there; empty: they have, or there are none.
Diags untransferable(const ir::Plan& plan, const model::Machine& machine, bool recorded) {
  if (plan.transfers.empty()) return {};
  if (recorded)
    return {
        error("the plan has transfers between its steps: it can not be recorded as one launch")};
  if (machine.host_link) return {};
  return {error(machine.profile + " does not say how fast the host is reached, and " + plan.name +
                    " has transfers",
                "memory: - {name: host, per: host, managed: explicit, bandwidth: {read: ..., "
                "write: ...}}")};
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
  s.mappings = {mapping_of(p)};
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

// Of a bundle on its own profile, the api that it was compiled for.
std::string api_for(const std::string& path, const hwdesc::Profile& profile,
                    const SimulateOptions& options) {
  if (!options.api.empty() || !directory_exists(path)) return options.api;
  const Result<hwdesc::Profile> own = profile_of_bundle(path);
  return own && own->name == profile.name ? api_of_bundle(path) : "";
}

Result<hwdesc::Target> target_for(const std::string& path, const hwdesc::Profile& profile,
                                  const SimulateOptions& options) {
  Result<hwdesc::Target> target = target_of(profile, api_for(path, profile, options));
  return target && options.recorded ? recorded(std::move(*target)) : target;
}

// A plan names its schema.
bool is_plan(const std::string& text) {
  return text.find("schema: assay/plan/") != std::string::npos;
}

// What is refused of a program, at the key of its text that says it.
Diags placed(const Diags& diags, const std::string& text, const std::string& file) {
  static constexpr std::pair<const char*, const char*> kKeys[] = {
      {"instruction", "matrix instruction"},
      {"pipeline_stages", "pipeline_stages"},
      {"split_k", "split-k"},
      {"staging", "staged"},
      {"threads", "threads"}};
  const Result<yaml::Document> doc = yaml::parse(text, file);
  Diags out;
  for (Diag d : diags) {
    d.file = file;
    for (const auto& [key, word] : kKeys)
      if (const yaml::Node* at = doc ? doc->root.find(key) : nullptr;
          at != nullptr && d.message.find(word) != std::string::npos) {
        d = yaml::error_at(*doc, *at, d.message, d.hint);
        break;
      }
    out.push_back(std::move(d));
  }
  return out;
}

Diag noted(Severity severity, std::string message, std::string hint = "") {
  Diag d = error(std::move(message), std::move(hint));
  d.severity = severity;
  return d;
}

std::string directory_of(const std::string& path) {
  if (directory_exists(path)) return path;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The profile beside a plan, that its programs were chosen for.
std::optional<hwdesc::Profile> chosen_for(const std::string& path) {
  Result<hwdesc::Profile> own = profile_of_bundle(directory_of(path));
  return own ? std::optional(std::move(*own)) : std::nullopt;
}

constexpr const char* kRechoose = "`--rechoose` chooses a bundle's programs for this profile";

// Programs chosen for another chip may need what this one lacks: the first reason, and how many.
Diags unpriceable(const ir::Plan& plan, const hwdesc::Target& target,
                  const std::optional<hwdesc::Profile>& own, const std::string& file) {
  std::string first;
  int count = 0;
  for (const ir::Program& p : plan.programs)
    if (const Diags why = lower::unpriceable(p, target); !why.empty() && ++count == 1)
      first = why[0].message;
  if (count == 0) return {};
  Diag d =
      error(fmt::format("{} of {} programs{} can not run on {}: {}", count, plan.programs.size(),
                        own ? ", chosen for " + own->name + "," : "", target.profile.name, first),
            kRechoose);
  d.file = file;
  return {d};
}

// Whose programs these are, where they are not this profile's.
void note_origin(const hwdesc::Profile& own, const hwdesc::Profile& profile, Simulation& out) {
  out.chosen_for = own.name;
  if (own.name != profile.name)
    out.notes.push_back(noted(Severity::warning,
                              "the programs were chosen for " + own.name + ", not for " +
                                  profile.name + ", which may run others much faster",
                              kRechoose));
  else if (hwdesc::hash_of(own) != hwdesc::hash_of(profile))
    out.notes.push_back(noted(
        Severity::note,
        "the programs were chosen for " + own.name + " with other values than these", kRechoose));
}

Result<Simulation> rechosen(const std::string& path, const hwdesc::Target& target,
                            const model::Machine& machine, const SimulateOptions& options) {
  if (!directory_exists(path))
    return error("--rechoose needs the directory of a bundle, which holds the model's graph");
  const Result<Bundle> bundle = read_bundle(path);
  if (!bundle) return bundle.diags();
  CompileOptions choose;
  choose.progress = options.progress;
  choose.cancel = options.cancel;
  if (bundle->plan.memory > 0) choose.memory = bundle->plan.memory;
  const Result<compiler::Compiled> compiled = choose_programs(bundle->graph, target, choose);
  if (!compiled) return compiled.diags();
  if (Diags refused = untransferable(compiled->plan, machine, options.recorded); !refused.empty())
    return refused;
  Simulation out = simulate_plan(compiled->plan, machine);
  out.chosen_for = target.profile.name;
  return out;
}

Result<Simulation> as_it_stands(const std::string& path, const hwdesc::Target& target,
                                const model::Machine& machine, const SimulateOptions& options) {
  const std::string file = directory_exists(path) ? path + "/" + kPlanFile : path;
  const Result<std::string> text = read_text(file);
  if (!text) return text.diags();
  if (!is_plan(*text)) {
    const Result<ir::Program> program = ir::parse_program(*text, file);
    if (!program) return program.diags();
    const Diags refused = lower::unpriceable(*program, target);
    if (!refused.empty()) return placed(refused, *text, file);
    return simulate_program(*program, machine, target, options.cold);
  }
  const Result<ir::Plan> plan = ir::parse_plan(*text, file);
  if (!plan) return plan.diags();
  const std::optional<hwdesc::Profile> own = chosen_for(path);
  if (Diags refused = unpriceable(*plan, target, own, file); !refused.empty()) return refused;
  if (Diags refused = untransferable(*plan, machine, options.recorded); !refused.empty())
    return refused;
  if (Diags refused = unschedulable(*plan, machine, file); !refused.empty()) return refused;
  Simulation out = simulate_plan(*plan, machine);
  if (own) note_origin(*own, target.profile, out);
  return out;
}

}  // namespace

Result<Simulation> simulate(const std::string& path, const hwdesc::Profile& profile,
                            const SimulateOptions& options) {
  const Result<hwdesc::Target> target = target_for(path, profile, options);
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  Result<Simulation> out = options.rechoose ? rechosen(path, *target, *machine, options)
                                            : as_it_stands(path, *target, *machine, options);
  if (!out) return out;
  if (const std::string why = why_no_kernels(*target); !why.empty())
    out->notes.push_back(noted(Severity::note, "no kernel can be printed: " + why));
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
  if (Diags refused = untransferable(plan, *machine, true); !refused.empty()) return refused;
  model::Estimate total = simulator::simulate(plan, *machine).total;
  const hwdesc::Launch& launch = one_by_one->api.launch;
  if (!launch.eager.known() || !launch.stream.known()) return total;
  const double outside = std::max(0.0, launch.eager.value->v - launch.stream.value->v);
  for (double* s : {&total.seconds, &total.low, &total.high}) *s += outside;
  return total;
}

namespace {

std::string fragments_of(const ir::MatrixInstruction& i) {
  std::string out = fmt::format("  instruction {}: {} x {} x {}\n", i.name, i.m, i.n, i.k);
  if (i.c.mapping.steps.empty() || i.opaque()) return out;
  return out + fmt::format("  lanes: a {}; b {}; c {}\n", ir::print(i.a.mapping),
                           ir::print(i.b.mapping), ir::print(i.c.mapping));
}

std::string threads_of(const ir::Program& p) {
  const ir::ThreadMapping& t = *p.threads;
  const auto axis = [&](int a) { return p.graph.nodes[0].axes[static_cast<size_t>(a)].name; };
  std::string out = fmt::format("  threads: {} over {} and {}", ir::print(t.tasks),
                                axis(t.row_axis), axis(t.column_axis));
  for (size_t i = 0; i < t.widths.size(); ++i)
    if (t.widths[i] > 1)
      out += fmt::format("; {} of {} at once", t.widths[i], p.graph.tensors[i].name);
  return out + "\n";
}

}  // namespace

std::string mapping_of(const ir::Program& p) {
  const lower::KnownInstruction* known = lower::known_instruction(p.instruction);
  std::string out = known == nullptr ? "" : fragments_of(known->computes);
  if (p.threads) out += threads_of(p);
  for (const ir::Staging& s : p.staging) {
    if (!s.tasks) continue;
    const int t = p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor;
    out += fmt::format("  copy of {}: {}, {} at once\n",
                       p.graph.tensors[static_cast<size_t>(t)].name, ir::print(*s.tasks), s.width);
  }
  for (const std::string& line : passed_tiles(p)) out += "  " + line + "\n";
  return out;
}

std::string explanation(const Estimate& estimate) { return simulator::explain(estimate); }

Result<hwdesc::Profile> profile_of_bundle(const std::string& directory) {
  return load_profile(directory + "/profile.yaml");
}

}  // namespace assay::toolkit
