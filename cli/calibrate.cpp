// assay calibrate
#include "toolkit/calibrate.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/errors_table.h"
#include "support/files/files.h"
#include "toolkit/estimate_json.h"
#include "toolkit/profiles.h"
#include "toolkit/validate_score.h"

namespace assay::cli {
namespace {

using toolkit::Json;

struct Request {
  std::vector<std::string> journals, overrides;
  std::string profile, api, output;
};

void declare(Options& options, Request& r) {
  options.add_option("JOURNAL", r.journals, "journals of `assay validate`, all of one device")
      .required();
  options.add_option("--profile", r.profile, "file, or name in the library")
      .type_name("PROFILE")
      .required();
  options.add_option("-o,--output", r.output, "calibration to write")
      .type_name("FILE.yaml")
      .required();
  options.add_option("--api", r.api, "api of the profile (default: the journals')")
      .type_name("NAME");
  options.add_overrides(r.overrides);
  options.add_format();
}

Result<toolkit::FromJournals> calibrate(const Request& r, const Context& context) {
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty()) return unwritable;
  Result<hwdesc::Profile> profile = toolkit::load_profile(r.profile);
  if (profile) profile = toolkit::apply_overrides(std::move(*profile), r.overrides);
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
