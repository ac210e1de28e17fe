// assay validate schedules
#include "toolkit/validate_schedules.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/model_options.h"
#include "support/files/files.h"
#include "toolkit/profiles.h"

namespace assay::cli {
namespace {

struct Request {
  std::vector<std::string> models;
  std::string profile, output;
  std::vector<std::string> overrides;
  toolkit::SchedulesOptions schedules;
};

void declare(Options& options, Request& r) {
  options.add_option("MODEL", r.models, ".onnx files, or chains of operators").required();
  options.add_option("--profile", r.profile, "file, or name in the library")
      .type_name("PROFILE")
      .required();
  options.add_option("-o,--output", r.output, "table to write").type_name("FILE.csv").required();
  options.add_option("--device", r.schedules.device, "see `assay devices`")
      .type_name("ID")
      .capture_default_str();
  options.add_option("--schedules", r.schedules.schedules, "to draw for each model")
      .type_name("N")
      .capture_default_str()
      .range(1, 1000);
  options
      .add_option("--rounds", r.schedules.rounds,
                  "samples per schedule, of which the median counts")
      .type_name("N")
      .capture_default_str()
      .range(1, 1000);
  options.add_option("--seed", r.schedules.seed, "seed for drawing schedules and inputs")
      .type_name("N")
      .capture_default_str();
  options.add_option("--api", r.schedules.api, "api of the profile (default: its first)")
      .type_name("NAME");
  options.add_overrides(r.overrides);
  options.add_format();
}

Result<hwdesc::Profile> prepare(const Request& r) {
  if (!r.output.ends_with(".csv"))
    return error("-o " + r.output + ": the table is CSV", "such as -o schedules.csv");
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty()) return unwritable;
  Result<hwdesc::Profile> profile = toolkit::load_profile(r.profile);
  return profile ? toolkit::apply_overrides(std::move(*profile), r.overrides) : profile;
}

std::string percent_of(double predicted, double measured) {
  return fmt::format("{:+.1f} %", 100 * (predicted / measured - 1));
}

void print_text(const toolkit::SchedulesValidation& v, const toolkit::SchedulesScore& s) {
  std::vector<std::vector<std::string>> rows = {
      {"model", "schedule", "predicted", "measured", "error"}};
  for (const toolkit::ScheduleRow& r : v.rows)
    rows.push_back({shortened(r.model, 40), r.schedule, duration(r.predicted), duration(r.measured),
                    percent_of(r.predicted, r.measured)});
  fmt::print("{}\n{} schedules on {}, profile {}; {} wrong\n", table(rows), s.schedules, v.device,
             v.profile, s.wrong);
  fmt::print("error: median {:.1f} %, within {:.0f} % for {:.0f} %; rank correlation {}\n",
             100 * s.median_error, 100 * toolkit::kWithin, 100 * s.within,
             s.spearman ? fmt::format("{:.2f}", *s.spearman) : "not defined");
  if (s.in_turn_over_chosen)
    fmt::print("one after the other / chosen, measured: {:.3f}\n", *s.in_turn_over_chosen);
}

}  // namespace

ExitCode run_validate_schedules(const Command& self, std::span<const std::string> arguments,
                                const Context& context) {
  Request r;
  Options options(self);
  declare(options, r);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<hwdesc::Profile> profile = prepare(r);
  if (!profile) return failed(profile.diags(), context);
  if (const Diags fault = device_fault(*profile, r.schedules.api, r.schedules.device);
      !fault.empty())
    return failed(fault, context, ExitCode::device_unavailable);
  ProgressLine progress(context);
  r.schedules.progress = progress.callback();
  r.schedules.cancel = context.cancel;
  const Result<toolkit::SchedulesValidation> v =
      toolkit::validate_schedules(r.models, *profile, r.schedules);
  progress.clear();
  if (!v) return failed(v.diags(), context);
  const toolkit::SchedulesScore score = toolkit::score_of(*v);
  if (const Diags unwritten = write_text(r.output, toolkit::print_csv(*v)); !unwritten.empty())
    return failed(unwritten, context);
  if (options.format() == Format::json)
    print_json(toolkit::to_json(*v, score));
  else
    print_text(*v, score);
  if (!v->whole) {
    fmt::print(stderr, "interrupted: {} holds the models before\n", r.output);
    return ExitCode::interrupted;
  }
  return score.wrong == 0 ? ExitCode::ok : ExitCode::no;
}

}  // namespace assay::cli
