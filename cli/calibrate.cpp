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
#include "toolkit/factors.h"
#include "toolkit/profiles.h"
#include "toolkit/validate_score.h"

namespace assay::cli {
namespace {

using toolkit::Json;

struct Request {
  std::vector<std::string> journals, overrides;
  std::string data;  // measurements of operators
  std::string profile, api, output, launch, caches;
};

void declare(Options& options, Request& r) {
  options.add_option("JOURNAL", r.journals, "journals of `assay validate`, all of one device");
  options
      .add_option("--data", r.data,
                  "instead: anyone's times, `op,type,seconds` a line; gives factors")
      .type_name("FILE.csv");
  options.add_option("--profile", r.profile, "file, or name in the library")
      .type_name("PROFILE")
      .required();
  options.add_option("-o,--output", r.output, "calibration to write")
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

Diags check(const Request& r) {
  if (r.journals.empty() == r.data.empty())
    return {error("either journals of `assay validate` or --data is needed",
                  "`assay calibrate --help`")};
  if (r.data.empty() && !(r.launch.empty() && r.caches.empty()))
    return {error("--launch and --caches say how the times of --data were measured")};
  return {};
}

Result<toolkit::FittedFactors> fit(const Request& r, Diags& notes) {
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty()) return unwritable;
  Result<hwdesc::Profile> profile = toolkit::load_profile(r.profile);
  if (profile) profile = toolkit::apply_overrides(std::move(*profile), r.overrides);
  if (!profile) return profile.diags();
  const Result<std::vector<toolkit::ReferenceRow>> rows = toolkit::read_measurements(r.data);
  if (!rows) return rows.diags();
  toolkit::EstimateOptions options;
  options.api = r.api;
  options.software = toolkit::Software::library;
  if (!r.launch.empty()) options.launch = r.launch;
  options.warm = r.caches == "warm";
  return toolkit::fit_factors(*profile, options, *rows, notes);
}

Json json_of(const toolkit::FittedKind& k) {
  Json factors = Json::object();
  for (size_t i = 0; i < compiler::kFactorNames.size(); ++i)
    if (k.factors.factors[i] != 1)
      factors[std::string(compiler::kFactorNames[i])] = k.factors.factors[i];
  return {{"class", k.factors.kind}, {"rows", k.rows},           {"factors", factors},
          {"not_told", k.not_told},  {"error_before", k.before}, {"error_held_out", k.after},
          {"low", k.factors.low},    {"high", k.factors.high}};
}

void print_text(const toolkit::FittedFactors& f, const std::string& output) {
  std::vector<std::vector<std::string>> rows = {
      {"class", "rows", "error", "held out", "interval", "factors"}};
  for (const toolkit::FittedKind& k : f.kinds) {
    std::string factors;
    for (size_t i = 0; i < compiler::kFactorNames.size(); ++i)
      if (k.factors.factors[i] != 1)
        factors += fmt::format("{}{} x{:.2f}", factors.empty() ? "" : ", ",
                               compiler::kFactorNames[i], k.factors.factors[i]);
    rows.push_back({std::string(k.factors.kind), std::to_string(k.rows),
                    fmt::format("{:.1f} %", 100 * k.before), fmt::format("{:.1f} %", 100 * k.after),
                    fmt::format("x{:.2f} .. x{:.2f}", k.factors.low, k.factors.high),
                    factors.empty() ? "none" : factors});
  }
  fmt::print("{}, {} launches, {} caches\n{}", f.name, f.launch, f.caches, table(rows));
  for (const toolkit::FittedKind& k : f.kinds)
    for (const std::string& why : k.not_told)
      fmt::print("not told of {}: {}\n", k.factors.kind, why);
  fmt::print("-> {}\n", output);
}

ExitCode run_data(const Request& r, Format format, const Context& context) {
  Diags notes;
  const Result<toolkit::FittedFactors> fitted = fit(r, notes);
  if (!fitted) return failed(fitted.diags(), context);
  if (const Diags unwritten = write_text(r.output, toolkit::print_factors(*fitted));
      !unwritten.empty())
    return failed(unwritten, context);
  if (format == Format::json) {
    Json classes = Json::array();
    for (const toolkit::FittedKind& k : fitted->kinds) classes.push_back(json_of(k));
    print_json({{"factors", r.output}, {"classes", classes}});
  } else {
    print_text(*fitted, r.output);
  }
  print_diags(notes);
  return ExitCode::ok;
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
  if (const Diags wrong = check(request); !wrong.empty()) return failed(wrong, context);
  if (!request.data.empty()) return run_data(request, options.format(), context);
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
