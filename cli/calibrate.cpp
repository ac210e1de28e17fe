// assay calibrate
#include "toolkit/calibrate.h"

#include <fmt/format.h>

#include "cli/calibrate_data.h"
#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/errors_table.h"
#include "cli/model_options.h"
#include "support/files/files.h"
#include "toolkit/estimate_json.h"
#include "toolkit/program_residuals.h"
#include "toolkit/validate_score.h"

namespace assay::cli {
namespace {

using toolkit::Json;

struct Request {
  std::vector<std::string> journals, overrides;
  std::string data;  // measurements of operators
  std::string profile, api, output, launch, caches, residuals;
};

void declare(Options& options, Request& r) {
  options.add_option("JOURNAL", r.journals, "journals of `assay validate`, all of one device");
  options
      .add_option("--data", r.data,
                  "instead: anyone's times, `op,type,seconds` a line; gives factors")
      .type_name("FILE.csv");
  options
      .add_option("--residuals", r.residuals,
                  "instead: intervals of all estimates, from journals with `use: fit`")
      .type_name("INDEX.yaml");
  options.add_option("--profile", r.profile, "file, or name in the library").type_name("PROFILE");
  options.add_option("-o,--output", r.output, "calibration, factors, or quantiles, to write")
      .type_name("FILE.yaml")
      .required();
  options.add_option("--api", r.api, "api of the profile (default: the journals')")
      .type_name("NAME");
  options
      .add_option("--launch", r.launch, "of --data: eager, stream (default), graph, or a time: 5us")
      .type_name("HOW");
  options.add_option("--caches", r.caches, "of --data: cold (default), or warm")
      .type_name("STATE")
      .one_of({"cold", "warm"});
  options.add_overrides(r.overrides);
  options.add_format();
}

Diags contradictions(const Request& r) {
  const int given = int{!r.journals.empty()} + int{!r.data.empty()} + int{!r.residuals.empty()};
  if (given != 1)
    return {error("one of JOURNAL..., --data and --residuals is needed",
                  "journals are of `assay validate`; `assay calibrate --help`")};
  if (r.residuals.empty() && r.profile.empty()) return {error("--profile is required")};
  if (!r.residuals.empty() && !(r.profile.empty() && r.api.empty() && r.overrides.empty()))
    return {error("--residuals takes its journals and profiles from the index",
                  "leave out --profile, --api and --set")};
  if (r.data.empty() && !(r.launch.empty() && r.caches.empty()))
    return {error("--launch and --caches say how the times of --data were measured")};
  return {};
}

ExitCode write_residuals(const Request& r, Format format, const Context& context) {
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty())
    return failed(unwritable, context);
  ProgressLine progress(context);
  const Result<toolkit::ProgramResiduals> made =
      toolkit::program_residuals(r.residuals, progress.callback(), context.cancel);
  if (!made) return failed(made.diags(), context);
  if (const Diags unwritten = write_text(r.output, made->text); !unwritten.empty())
    return failed(unwritten, context);
  if (format == Format::json)
    print_json({{"residuals", r.output}, {"programs", made->programs}, {"inside", made->inside}});
  else
    fmt::print("{} programs, {:.1f} % of them inside -> {}\n", made->programs, 100 * made->inside,
               r.output);
  return ExitCode::ok;
}

Result<toolkit::FromJournals> calibrate(const Request& r, const Context& context) {
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty()) return unwritable;
  const Result<hwdesc::Profile> profile = profile_of(r.profile, r.overrides);
  if (!profile) return profile.diags();
  ProgressLine progress(context);
  return toolkit::calibrate_from(*profile, r.journals, r.api, progress.callback(), context.cancel);
}

Json to_json(const toolkit::Calibration& c) {
  Json classes = Json::object();
  for (const auto& [name, by] : c.classes)
    classes[name] = {{"factor", by.factor},
                     {"below", by.below},
                     {"above", by.above},
                     {"programs", by.programs},
                     {"operators", by.operators}};
  return classes;
}

void print_text(const toolkit::FromJournals& f, const std::string& output) {
  const toolkit::Calibration& c = f.calibration;
  std::vector<std::vector<std::string>> rows = {
      {"class", "operators", "programs", "factor", "interval below", "above"}};
  for (const auto& [name, by] : c.classes)
    rows.push_back({name, std::to_string(by.operators), std::to_string(by.programs),
                    fmt::format("{:.3f}", by.factor), fmt::format("x {:.2f}", by.below),
                    fmt::format("x {:.2f}", by.above)});
  fmt::print("{} ({}), profile {}\n{}\n", c.device, c.api, c.name, table(rows));
  rows = {errors_heading()};
  const toolkit::Score without = toolkit::score_of(f.plain), with = toolkit::score_of(f.by_others);
  for (const auto& [name, errors] : kSets) {
    rows.push_back(errors_row(name, without.*errors));
    rows.push_back(errors_row("  calibrated by other operators", with.*errors));
  }
  fmt::print("{}-> {}\n", table(rows), output);
}

}  // namespace

ExitCode run_calibrate(const Command& self, std::span<const std::string> arguments,
                       const Context& context) {
  Request request;
  Options options(self);
  declare(options, request);
  if (const auto stop = options.parse(arguments)) return *stop;
  if (const Diags wrong = contradictions(request); !wrong.empty()) return failed(wrong, context);
  if (!request.residuals.empty()) return write_residuals(request, options.format(), context);
  if (!request.data.empty())
    return run_calibrate_data({request.data, request.profile, request.api, request.output,
                               request.launch, request.caches, request.overrides},
                              options.format(), context);
  const Result<toolkit::FromJournals> made = calibrate(request, context);
  if (!made) return failed(made.diags(), context);
  if (const Diags unwritten =
          write_text(request.output, toolkit::print_calibration(made->calibration));
      !unwritten.empty())
    return failed(unwritten, context);
  if (options.format() == Format::json)
    print_json({{"calibration", request.output},
                {"classes", to_json(made->calibration)},
                {"without", toolkit::figures(toolkit::score_of(made->plain))},
                {"by_others", toolkit::figures(toolkit::score_of(made->by_others))}});
  else
    print_text(*made, request.output);
  return ExitCode::ok;
}

}  // namespace assay::cli
