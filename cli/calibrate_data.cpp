#include "cli/calibrate_data.h"

#include <fmt/format.h>

#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/model_options.h"
#include "support/files/files.h"
#include "toolkit/estimate_json.h"
#include "toolkit/factors.h"

namespace assay::cli {
namespace {

using toolkit::Json;

Result<toolkit::FittedFactors> fit(const DataRequest& r, Diags& notes) {
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty()) return unwritable;
  const Result<hwdesc::Profile> profile = profile_of(r.profile, r.overrides);
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

Json json_of_kind(const toolkit::FittedKind& k) {
  Json factors = Json::object();
  for (size_t i = 0; i < compiler::kFactorNames.size(); ++i)
    if (k.factors.factors[i] != 1)
      factors[std::string(compiler::kFactorNames[i])] = k.factors.factors[i];
  return {{"class", k.factors.kind}, {"rows", k.rows},           {"factors", factors},
          {"not_told", k.not_told},  {"error_before", k.before}, {"error_held_out", k.after},
          {"low", k.factors.low},    {"high", k.factors.high}};
}

void print_factors(const toolkit::FittedFactors& f, const std::string& output) {
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

}  // namespace

ExitCode run_calibrate_data(const DataRequest& r, Format format, const Context& context) {
  Diags notes;
  const Result<toolkit::FittedFactors> fitted = fit(r, notes);
  if (!fitted) print_diags(notes);  // why rows were left out
  if (!fitted) return failed(fitted.diags(), context);
  if (const Diags unwritten = write_text(r.output, toolkit::print_factors(*fitted));
      !unwritten.empty())
    return failed(unwritten, context);
  if (format == Format::json) {
    Json classes = Json::array();
    for (const toolkit::FittedKind& k : fitted->kinds) classes.push_back(json_of_kind(k));
    print_json({{"factors", r.output}, {"classes", classes}});
  } else {
    print_factors(*fitted, r.output);
  }
  print_diags(notes);
  return ExitCode::ok;
}

}  // namespace assay::cli
