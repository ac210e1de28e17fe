// assay compile
#include "toolkit/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/model_options.h"
#include "cli/step_rows.h"
#include "support/files/files.h"
#include "support/quantity.h"
#include "toolkit/chains.h"
#include "toolkit/estimate_json.h"
#include "toolkit/model_type.h"
#include "toolkit/passed_tiles.h"
#include "toolkit/profiles.h"
#include "toolkit/transfer_sums.h"

namespace assay::cli {
namespace {

using toolkit::Json;

struct Request {
  std::string model, op, profile, output;
  std::vector<std::string> overrides;
  ModelShapes shapes;
  std::string fuse = "all", schedule = "auto", memory;
  bool no_build = false, explain = false;
  toolkit::CompileOptions compile;
};

void declare(Options& options, Request& r) {
  options.add_option("MODEL", r.model, "");
  options.add_option("--op", r.op, operator_help());
  options.add_option("--profile", r.profile, "file, or name in the library")
      .type_name("PROFILE")
      .required();
  options.add_option("-o,--output", r.output, "directory of the bundle; replaces an older bundle")
      .type_name("DIR")
      .required();
  options.add_option("--api", r.compile.api, "api of the profile (default: its first)")
      .type_name("NAME");
  options
      .add_option("--type", r.compile.type,
                  "of a model's values (default: its own; any: f32 if need be)")
      .type_name("TYPE")
      .one_of({"f32", "f16", "bf16", "any"});
  declare_shapes(options, r.shapes);
  options.add_option("--fuse", r.fuse, "none, elementwise or all (default): what one step computes")
      .type_name("WHAT")
      .one_of({"none", "elementwise", "all"});
  options
      .add_option("--schedule", r.schedule,
                  "auto (default), off or always: steps side by side on different units")
      .type_name("WHEN")
      .one_of({"auto", "off", "always"});
  options
      .add_option("--memory", r.memory,
                  "device memory for values and weights; the host has the rest")
      .type_name("SIZE");
  options.add_flag("--explain", r.explain, "print what stays on the chip, and what was tried");
  options.add_flag("--no-build", r.no_build, "leave building the kernels to `assay run`");
  options.add_overrides(r.overrides);
  options.add_format();
}

Result<toolkit::Model> read(const Request& r) {
  if (r.op.empty()) return toolkit::read_model(r.model, r.compile);
  Result<ir::Graph> graph = toolkit::chain_of(r.op);
  if (!graph) return graph.diags();
  return toolkit::Model{std::move(*graph), {}};
}

// `256 MiB`, also without the space.
Diags read_memory(const std::string& text, std::optional<int64_t>& to) {
  if (text.empty()) return {};
  std::string spaced = text;
  const size_t unit = text.find_first_not_of("0123456789.");
  if (unit != std::string::npos && unit > 0 && text[unit] != ' ') spaced.insert(unit, " ");
  const Result<Quantity> size = parse_quantity(spaced, Dimension::bytes);
  if (!size || !(size->v >= 1 && size->v < 0x1p60)) {
    const std::string why = size ? "a size is at least one byte" : size.diags()[0].message;
    return {error(fmt::format("--memory '{}': {}", text, why), "--memory '256 MiB'")};
  }
  to = static_cast<int64_t>(size->v);
  return {};
}

Result<toolkit::Bundle> compile(Request& r, const Context& context) {
  const Diags wrong = read_shapes(r.shapes, r.compile);
  if (!wrong.empty()) return wrong;
  if (Diags bad = read_memory(r.memory, r.compile.memory); !bad.empty()) return bad;
  if (r.model.empty() && r.op.empty())
    return error("one of MODEL.onnx and --op is needed", "`assay compile --help`");
  if (!r.model.empty() && !r.op.empty())
    return error("MODEL.onnx and --op are both given", "give one of them");
  if (!r.op.empty() && !r.compile.type.empty())
    return error("--type is for models: an operator says its own",
                 fmt::format("--op '{} type={}'", r.op, r.compile.type));
  if (!r.op.empty() && !r.shapes.dims.empty())
    return error("--dim is for models: an operator says its own extents");
  if (!r.op.empty() && !r.shapes.shapes.empty())
    return error("--shape is for models: an operator says its own extents");
  const Diags unwritable = check_writable(r.output);
  if (!unwritable.empty()) return unwritable;
  Result<hwdesc::Profile> profile = toolkit::load_profile(r.profile);
  if (profile) profile = toolkit::apply_overrides(std::move(*profile), r.overrides);
  if (!profile) return profile.diags();
  Result<toolkit::Model> model = read(r);
  if (!model) return model.diags();
  ProgressLine progress(context);
  r.compile.progress = progress.callback();
  r.compile.cancel = context.cancel;
  r.compile.build = !r.no_build;
  r.compile.fuse = r.fuse == "none"          ? compiler::Fuse::none
                   : r.fuse == "elementwise" ? compiler::Fuse::elementwise
                                             : compiler::Fuse::all;
  r.compile.schedule = r.schedule == "off"      ? compiler::Schedule::off
                       : r.schedule == "always" ? compiler::Schedule::always
                                                : compiler::Schedule::automatic;
  if (r.op.empty()) {
    const Diags effect = toolkit::effect_of_type(r.model, *model, r.compile);
    if (has_error(effect)) return effect;
    model->notes.insert(model->notes.end(), effect.begin(), effect.end());
  }
  Result<toolkit::Bundle> bundle =
      toolkit::compile_bundle(std::move(model->graph), *profile, r.compile);
  if (bundle) bundle->notes.insert(bundle->notes.begin(), model->notes.begin(), model->notes.end());
  return bundle;
}

Json to_json(const Diags& notes) {
  Json list = Json::array();
  for (const Diag& d : notes) list.push_back(d.message);
  return list;
}

Json to_json(const compiler::Scheduled& s, bool side_by_side) {
  return {{"side_by_side", side_by_side}, {"predicted_s", s.seconds},
          {"in_turn_s", s.in_turn},       {"critical_path_s", s.bounds.critical_path},
          {"work_s", s.bounds.work},      {"both_s", s.bounds.both},
          {"considered", s.considered},   {"why_not", s.why_not}};
}

void print_schedule(const compiler::Scheduled& s) {
  if (!s.why_not.empty()) fmt::print("schedule: {}\n", s.why_not);
  if (s.considered.empty()) return;
  const std::string both =
      s.bounds.both > 0 ? fmt::format(", both at once {}", duration(s.bounds.both)) : "";
  fmt::print("schedule: at least {} (longest path {}, work {}{})\n", duration(s.bounds.least()),
             duration(s.bounds.critical_path), duration(s.bounds.work), both);
  for (const std::string& line : s.considered) fmt::print("  {}\n", line);
}

Json to_json(const toolkit::Bundle& b, const std::string& directory) {
  Json out = {
      {"model", b.plan.name},
      {"type", toolkit::types_of(b.graph)},
      {"bundle", directory},
      {"profile", b.profile.name},
      {"api", b.api},
      {"steps", b.plan.steps.size()},
      {"programs", b.plan.programs.size()},
      {"kernels", b.kernels.size()},
      {"no_kernels", b.no_kernels},
      {"predicted_s", b.total.seconds},
      {"interval_s", {b.total.low, b.total.high}},
      {"plan_s", b.plan_s},
      {"build_s", b.build_s},
      {"arena_bytes", b.plan.arena_bytes},
      {"weights_bytes", b.plan.weights_bytes},
      {"groups", toolkit::passed_tiles(b.plan)},
      {"considered", b.considered},
      {"traffic", b.traffic},
      {"schedule", to_json(b.scheduled, !b.plan.schedule.empty() || !b.plan.phases.empty())},
      {"launches", b.plan.phases.size()},
      {"notes", to_json(b.notes)}};
  if (b.plan.memory > 0)
    out.update({{"memory_bytes", b.plan.memory},
                {"host_bytes", b.plan.host_bytes + b.plan.host_weights_bytes},
                {"transfers", b.plan.transfers.size()},
                {"streamed", b.streamed}});
  return out;
}

void print_streamed(const toolkit::Bundle& b) {
  const auto size = [](int64_t n) { return bytes(static_cast<double>(n)); };
  fmt::print("  within {} of device memory; {} in host memory\n", size(b.plan.memory),
             size(b.plan.host_bytes + b.plan.host_weights_bytes));
  for (const toolkit::TransferSum& t : toolkit::transfer_sums(b.plan, b.transfers))
    fmt::print("  {}: {}\n", label_of_transfers(t.download, t.count, t.bytes),
               duration(t.estimate.seconds));
}

void print_text(const toolkit::Bundle& b, const std::string& directory, bool explained) {
  fmt::print("{} ({}) for {} ({})\n", b.plan.name, toolkit::types_of(b.graph), b.profile.name,
             b.api.empty() ? "no api" : b.api);
  fmt::print("  {} steps from {} distinct programs; arena {}, weights {}\n", b.plan.steps.size(),
             b.plan.programs.size(), bytes(static_cast<double>(b.plan.arena_bytes)),
             bytes(static_cast<double>(b.plan.weights_bytes)));
  if (b.plan.memory > 0) print_streamed(b);
  fmt::print("  predicted {}  ({} .. {})\n", duration(b.total.seconds), duration(b.total.low),
             duration(b.total.high));
  if (!b.plan.schedule.empty() || !b.plan.phases.empty())
    fmt::print("  steps side by side{}: {:.2f} times as fast as one after the other ({})\n",
               b.plan.phases.empty() ? "" : fmt::format(", in {} launches", b.plan.phases.size()),
               b.scheduled.in_turn / b.scheduled.seconds, duration(b.scheduled.in_turn));
  fmt::print("  chosen in {}", duration(b.plan_s));
  if (b.build_s > 0) fmt::print(", kernels built in {}", duration(b.build_s));
  fmt::print("\n");
  if (!b.no_kernels.empty()) fmt::print("  kernels were not printed: {}\n", b.no_kernels);
  fmt::print("  -> {}\n", directory);
  if (!explained) return;
  for (const std::string& line : b.streamed) fmt::print("  {}\n", line);
  for (const std::string& line : b.traffic) fmt::print("  traffic {}\n", line);
  for (const std::string& line : toolkit::passed_tiles(b.plan)) fmt::print("{}\n", line);
  if (const auto n = std::ranges::count_if(
          b.plan.steps, [](const ir::Step& s) { return s.needed_if.has_value(); }))
    fmt::print("{} steps run only where a condition holds: branches of an If\n", n);
  if (!b.considered.empty()) fmt::print("considered:\n");
  for (const std::string& line : b.considered) fmt::print("  {}\n", line);
  print_schedule(b.scheduled);
}

}  // namespace

ExitCode run_compile(const Command& self, std::span<const std::string> arguments,
                     const Context& context) {
  Request request;
  Options options(self);
  declare(options, request);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<toolkit::Bundle> bundle = compile(request, context);
  if (!bundle) return failed(bundle.diags(), context);
  const Diags unwritten = toolkit::write_bundle(*bundle, request.output);
  if (!unwritten.empty()) return failed(unwritten, context);
  if (options.format() == Format::json)
    print_json(to_json(*bundle, request.output));
  else
    print_text(*bundle, request.output, request.explain);
  print_diags(bundle->notes);
  return ExitCode::ok;
}

}  // namespace assay::cli
