// The command `probe`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/console/measure.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "hwdesc/check.h"
#include "hwdesc/show.h"
#include "support/files/files.h"
#include "support/quantity.h"

namespace assay::console {
namespace {

struct Request {
  std::string device = "cpu:0", output, from, budget = "40s", patience;
  probe::ProbeOptions probe;
  ProbePlaces places;  // of `output`
};

void declare(Options& options, Request& r, const Command& self) {
  Option device =
      options.add_option("--device", r.device, fmt::format("see `{} devices`", self.program))
          .type_name("ID")
          .capture_default_str();
  options
      .add_option("-o,--output", r.output,
                  "directory for profile, observations and report.html, or PROFILE.yaml")
      .type_name("DIR");
  Option budget =
      options.add_option("--budget", r.budget, "wall time, builds included: 40s, 3min, full")
          .type_name("TIME")
          .capture_default_str();
  Option patience = options
                        .add_option("--patience", r.patience,
                                    fmt::format("time beyond three shares before an experiment "
                                                "counts as hung (default {:.0f}s)",
                                                probe::kPatience))
                        .type_name("TIME");
  options
      .add_option("--observations", r.probe.observations,
                  "directory for raw samples (default: in the output directory)")
      .type_name("DIR");
  Option resume = options.add_flag("--resume", r.probe.resume,
                                   "run only the experiments that an earlier probe lacks");
  Option only =
      options
          .add_option("--only", r.probe.only,
                      "experiment, or topic (compute, memory, control), to run; repeatable")
          .type_name("NAME")
          .allow_extra_args(false);
  Option from = options
                    .add_option("--from", r.from,
                                "infer from an earlier probe's observations, without a device")
                    .type_name("DIR");
  for (const Option* live : {&device, &budget, &patience, &resume, &only}) from.excludes(*live);
  options.add_format();
}

// `40s`, `500 ms`, `5min`, plain seconds, or `full`.
Result<double> read_seconds(const char* option, const std::string& text, bool may_be_full) {
  if (may_be_full && text == "full") return probe::kFullBudget;
  const size_t unit = text.find_first_not_of("0123456789.");
  const Result<double> number = parse_number(text.substr(0, unit));
  std::string name =
      unit == std::string::npos ? "s" : text.substr(text.find_first_not_of(' ', unit));
  const double factor = name == "s" ? 1 : name == "ms" ? 1e-3 : name == "min" ? 60 : 0;
  if (!number || factor == 0 || *number <= 0)
    return error(fmt::format("{} '{}' is not a time", option, text),
                 may_be_full ? "such as 40s, 3min or full" : "such as 40s or 3min");
  return *number * factor;
}

Diags check_request(Request& r) {
  const Result<double> budget = read_seconds("--budget", r.budget, true);
  if (!budget) return budget.diags();
  r.probe.budget_s = *budget;
  if (!r.patience.empty()) {
    const Result<double> patience = read_seconds("--patience", r.patience, false);
    if (!patience) return patience.diags();
    r.probe.patience_s = *patience;
  }
  if (Diags unknown = probe::check_experiments(r.probe.only); !unknown.empty()) return unknown;
  if (r.output.empty() && !r.from.empty()) r.output = results_of(r.from);
  if (r.output.empty())
    return {error("-o is missing: the place of the profile",
                  "such as -o my-device or -o profile.yaml")};
  r.places = places_of(r.output);
  if (r.probe.observations.empty()) r.probe.observations = r.places.observations;
  if (r.probe.resume && r.probe.observations.empty())
    return {error("--resume needs the directory to continue: -o DIR, or --observations")};
  return prepare_places(r.places);
}

std::string rounded_interval(const std::string& text) {
  const size_t dots = text.find(" .. ");
  if (dots == std::string::npos) return text;
  return rounded_quantity(text.substr(0, dots)) + " .. " + rounded_quantity(text.substr(dots + 4));
}

// The first figures; all are in the profile.
void print_text(const probe::ProbeResult& result, const ProbePlaces& places) {
  std::vector<std::vector<std::string>> rows = {{"measured", "value", "interval"}};
  int others = 0;
  for (const hwdesc::FieldRow& f : hwdesc::rows(result.profile)) {
    if (f.origin != "measured" || f.interval.empty()) continue;
    if (rows.size() < 24)
      rows.push_back({f.path, rounded_quantity(f.value), rounded_interval(f.interval)});
    else
      ++others;
  }
  fmt::print("{}\n{}", result.profile.name, table(rows));
  if (others > 0) fmt::print("and {} more: `assay profile show {}`\n", others, places.profile);
  if (result.seconds > 0)
    fmt::print("experiments {}, opening the device {}\n", duration(result.seconds),
               duration(result.build_seconds));
  if (!result.left_out.empty())
    fmt::print("unknown: budget: {}; --resume measures them\n", fmt::join(result.left_out, ", "));
  fmt::print("-> {}\n", places.profile);
  if (!places.report.empty()) fmt::print("-> {}\n", places.report);
}

// A fault with a file is not the device's.
ExitCode not_measured(const Diags& why, bool live, const Context& context) {
  if (context.cancelled() && !why.empty() && !why.front().hint.empty())
    fmt::print(stderr, "{}\n", why.front().hint);
  const bool a_file = !why.empty() && !why.front().file.empty();
  return failed(why, context, live && !a_file ? ExitCode::device_unavailable : ExitCode::bad_input);
}

}  // namespace

ExitCode run_probe(const Command& self, std::span<const std::string> arguments,
                   const Context& context) {
  Request request;
  Options options(self);
  declare(options, request, self);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Diags wrong = check_request(request);
  if (!wrong.empty()) return failed(wrong, context);
  ProgressLine progress(context);
  request.probe.progress = progress.callback();
  request.probe.cancel = context.cancel;
  const bool live = request.from.empty();
  const Result<probe::ProbeResult> result =
      live ? measure(request.device, request.probe) : measure_again(request.from);
  progress.clear();
  if (!result) return not_measured(result.diags(), live, context);
  print_diags(result->warnings);
  const std::string observations =
      live ? request.probe.observations : observations_of(request.from);
  const Diags unwritten = keep(*result, request.places, observations);
  if (!unwritten.empty()) return failed(unwritten, context);
  if (options.format() == Format::json)
    print_json({{"profile", result->profile.name},
                {"file", request.places.profile},
                {"report", request.places.report},
                {"observations", observations},
                {"seconds", result->seconds},
                {"build_seconds", result->build_seconds}});
  else
    print_text(*result, request.places);
  return ExitCode::ok;
}

}  // namespace assay::console
