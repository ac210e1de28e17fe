// assay validate
#include "toolkit/validate.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/errors_table.h"
#include "cli/model_options.h"
#include "support/files/files.h"
#include "toolkit/calibrate.h"
#include "toolkit/profiles.h"
#include "toolkit/validate_plot.h"
#include "toolkit/validate_score.h"

namespace assay::cli {
namespace {

struct Request {
  std::string profile, suite = "operators", output, from, calibration;
  std::vector<std::string> overrides;
  toolkit::ValidateOptions validate;
};

void declare(Options& options, Request& r) {
  options.add_option("--profile", r.profile, "file, or name in the library")
      .type_name("PROFILE")
      .required();
  options.add_option("--device", r.validate.device, "see `assay devices`")
      .type_name("ID")
      .capture_default_str();
  options.add_option("--suite", r.suite, "operators, quick, or a file")
      .type_name("SUITE")
      .capture_default_str();
  options
      .add_option("-o,--output", r.output,
                  "table to write; a .svg and a .journal file are written beside it")
      .type_name("FILE.csv")
      .required();
  options.add_option("--programs", r.validate.programs, "programs per operator")
      .type_name("N")
      .capture_default_str()
      .range(2, 10000);
  options.add_option("--repeat", r.validate.repeat, "samples per program")
      .type_name("N")
      .capture_default_str()
      .range(1, 10000);
  options.add_option("--seed", r.validate.seed, "seed for drawing programs")
      .type_name("N")
      .capture_default_str();
  options.add_option("--api", r.validate.api, "api of the profile (default: its first)")
      .type_name("NAME");
  const console::Option resume = options.add_flag("--resume", r.validate.resume,
                                                  "run only the operators that the journal lacks");
  options.add_option("--from", r.from, "compare an earlier journal's times with today's estimates")
      .type_name("FILE.journal")
      .excludes(resume);
  options
      .add_option("--calibration", r.calibration,
                  "also print calibrated figures; see `assay calibrate`")
      .type_name("FILE.yaml");
  options.add_overrides(r.overrides);
  options.add_format();
}

std::string beside(const std::string& output, const std::string& ending) {
  return (output.ends_with(".csv") ? output.substr(0, output.size() - 4) : output) + ending;
}

struct Ready {
  hwdesc::Profile profile;
  toolkit::Suite suite;
  std::optional<toolkit::Calibration> calibration;
};

Result<Ready> prepare(Request& r) {
  for (const char* other : {".svg", ".journal"})
    if (r.output.ends_with(other))
      return error(
          fmt::format("-o {}: the table is CSV; its {} is written beside it", r.output, other),
          "such as -o table.csv");
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty()) return unwritable;
  r.validate.journal = beside(r.output, ".journal");
  if (r.validate.resume && !file_exists(r.validate.journal))
    return error("--resume: there is no journal " + r.validate.journal,
                 "leave it out to start anew");
  Result<hwdesc::Profile> profile = toolkit::load_profile(r.profile);
  if (profile) profile = toolkit::apply_overrides(std::move(*profile), r.overrides);
  if (!profile) return profile.diags();
  Result<toolkit::Suite> suite = toolkit::load_suite(r.suite);
  if (!suite) return suite.diags();
  Ready ready{std::move(*profile), std::move(*suite), {}};
  if (r.calibration.empty()) return ready;
  Result<toolkit::Calibration> calibration = toolkit::load_calibration(r.calibration);
  if (!calibration) return calibration.diags();
  ready.calibration = std::move(*calibration);
  return ready;
}

// For a measurement; journals know their api.
Diags misfits(const Ready& ready, const toolkit::ValidateOptions& options) {
  const Result<hwdesc::Target> target = toolkit::target_of(ready.profile, options.api);
  return target && ready.calibration
             ? toolkit::misfits(*ready.calibration, ready.profile, target->api.name)
             : Diags{};
}

constexpr double kOtherRate = 0.04;

std::vector<std::string> row(const toolkit::OperatorScore& o) {
  return {shortened(o.name, 44),
          duration(o.first_s),
          signed_share(o.first_error),
          share(o.all.mape),
          signed_share(o.all.bias),
          plain(o.spearman),
          plain(o.kendall_good) + fmt::format(" ({})", o.good),
          plain(o.regret),
          share(o.all.coverage),
          share(o.all.half_width)};
}

void print_text(const toolkit::Validation& v, const toolkit::Score& s) {
  std::vector<std::vector<std::string>> rows = {{"operator", "first choice", "error", "MAPE all",
                                                 "bias", "Spearman", "Kendall good", "regret",
                                                 "coverage", "half-width"}};
  for (const toolkit::OperatorScore& o : s.operators) rows.push_back(row(o));
  rows.push_back({"total", "", share(s.first.mape), share(s.all.mape), signed_share(s.all.bias),
                  plain(s.spearman_median), plain(s.kendall_good_median), plain(s.regret_geomean),
                  share(s.all.coverage), share(s.all.half_width)});
  fmt::print("{} on {}, profile {}\n{}\n", v.suite, v.device, v.profile, table(rows));
  rows = {errors_heading()};
  for (const auto& [name, errors] : kSets) rows.push_back(errors_row(name, s.*errors));
  for (const toolkit::Regime& r : s.regimes) rows.push_back(errors_row(r.name + ", all", r.all));
  for (const toolkit::Regime& r : s.regimes)
    rows.push_back(errors_row(r.name + ", first", r.first));
  fmt::print("{}\n{} of {} operators, {} programs measured, {} with wrong values\n", table(rows),
             v.operators.size(), v.total, s.measured, s.wrong);
  fmt::print(
      "choosing {}, references {}, building kernels {}, running {}; others disturbed {:.0f} % of "
      "the samples\n",
      duration(s.spent.choose), duration(s.spent.reference), duration(s.spent.build),
      duration(s.spent.run), s.disturbed * 100);
  if (s.multiply_add_ratio && std::abs(*s.multiply_add_ratio - 1) > kOtherRate)
    fmt::print(
        "multiply-adds ran at {:.2f} of the profile's rate (median), which may explain as much of "
        "each error; probe again right before to exclude it\n",
        *s.multiply_add_ratio);
}

Diags write_files(const toolkit::Validation& v, const std::string& output) {
  if (Diags unwritten = write_text(output, toolkit::print_csv(v)); !unwritten.empty())
    return unwritten;
  return write_text(beside(output, ".svg"), toolkit::plot_svg(v));
}

void print_calibrated(const toolkit::Score& plain, const toolkit::Score& calibrated) {
  std::vector<std::vector<std::string>> rows = {errors_heading()};
  for (const auto& [name, errors] : kSets) {
    rows.push_back(errors_row(name, plain.*errors));
    rows.push_back(errors_row("  calibrated", calibrated.*errors));
  }
  fmt::print("\n{}", table(rows));
}

Diags show(const toolkit::Validation& v, const toolkit::Score& score, const Ready& ready,
           Format format) {
  print_diags(v.notes);
  std::optional<toolkit::Score> calibrated;
  if (ready.calibration) {
    const Diags misfit = toolkit::misfits(*ready.calibration, ready.profile, v.api);
    if (has_error(misfit)) return misfit;
    print_diags(misfit);
    const Result<toolkit::Validation> by = toolkit::calibrated(v, *ready.calibration);
    if (!by) return by.diags();
    calibrated = toolkit::score_of(*by);
  }
  if (format == Format::json) {
    toolkit::Json json = to_json(v, score);
    if (calibrated) json["calibrated"] = toolkit::figures(*calibrated);
    print_json(json);
    return {};
  }
  print_text(v, score);
  if (calibrated) print_calibrated(score, *calibrated);
  return {};
}

ExitCode conclude(const toolkit::Validation& v, const Request& r, const Ready& ready, Format format,
                  const Context& context) {
  const toolkit::Score score = toolkit::score_of(v);
  if (!v.operators.empty()) {
    if (const Diags unwritten = write_files(v, r.output); !unwritten.empty())
      return failed(unwritten, context);
    if (const Diags unshown = show(v, score, ready, format); !unshown.empty())
      return failed(unshown, context);
  }
  if (static_cast<int>(v.operators.size()) == v.total)
    return score.wrong == 0 ? ExitCode::ok : ExitCode::no;
  std::fflush(stdout);
  fmt::print(stderr, "interrupted after {} of {} operators; --resume continues\n",
             v.operators.size(), v.total);
  return ExitCode::interrupted;
}

}  // namespace

ExitCode run_validate(const Command& self, std::span<const std::string> arguments,
                      const Context& context) {
  Request request;
  Options options(self);
  declare(options, request);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<Ready> ready = prepare(request);
  if (!ready) return failed(ready.diags(), context);
  if (const Diags misfit = misfits(*ready, request.validate);
      request.from.empty() && has_error(misfit))
    return failed(misfit, context);
  if (request.from.empty())
    if (const Diags fault =
            device_fault(ready->profile, request.validate.api, request.validate.device);
        !fault.empty())
      return failed(fault, context, ExitCode::device_unavailable);
  ProgressLine progress(context);
  request.validate.progress = progress.callback();
  request.validate.cancel = context.cancel;
  const Result<toolkit::Validation> validation =
      request.from.empty()
          ? toolkit::validate(ready->profile, ready->suite, request.validate)
          : toolkit::judge_again(ready->profile, request.from, request.validate.api,
                                 request.validate.progress, context.cancel);
  progress.clear();
  if (!validation) return failed(validation.diags(), context);
  return conclude(*validation, request, *ready, options.format(), context);
}

}  // namespace assay::cli
