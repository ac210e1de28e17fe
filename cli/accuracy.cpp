// assay accuracy
#include "toolkit/accuracy.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "support/files/files.h"
#include "toolkit/accuracy_page.h"
#include "toolkit/estimate_json.h"
#include "toolkit/reference.h"

namespace assay::cli {
namespace {

using toolkit::Json;

struct Request {
  std::string reference = "reference", report, residuals;
  toolkit::AccuracyOptions accuracy;
};

void declare(Options& options, Request& r) {
  options
      .add_option("--reference", r.reference, "folder with index.yaml and tables of measurements")
      .type_name("DIR")
      .capture_default_str();
  options.add_option("--device", r.accuracy.device, "profile whose tables are shown (default: all)")
      .type_name("PROFILE");
  options.add_option("--report", r.report, "also write a page with plots and all tables")
      .type_name("FILE.html");
  options
      .add_option("--residuals", r.residuals,
                  "also write the quantiles of all tables: the intervals of estimates")
      .type_name("FILE.yaml");
  options.add_format();
}

std::string percents(double v) { return fmt::format("{:.1f}", 100 * v); }

void print_programs(const std::vector<toolkit::ProgramAccuracy>& programs) {
  std::vector<std::vector<std::string>> rows = {{"device, programs", "role", "n", "mean", "median",
                                                 "bias", "Kendall", "Spearman", "regret",
                                                 "of 1,000"}};
  for (const toolkit::ProgramAccuracy& p : programs)
    rows.push_back({p.device + " " + p.group, toolkit::role_name(p.role),
                    fmt::format("{}", p.errors.n), percents(p.errors.mean),
                    percents(p.errors.median), percents(p.errors.bias),
                    fmt::format("{:.3f}", p.kendall), fmt::format("{:.3f}", p.spearman),
                    fmt::format("{:.2f}", p.regret), fmt::format("{:.2f}", p.subset_regret)});
  fmt::print("\n{}", table(rows));
}

void print_text(const toolkit::Accuracy& a) {
  std::vector<std::vector<std::string>> rows = {{"device, group", "role", "times", "n", "mean",
                                                 "median", "bias", "roofline", "3 constants",
                                                 "inside", "half-width"}};
  for (const toolkit::AccuracyRow& r : a.rows)
    rows.push_back({std::isinf(r.below) ? r.device + " " + r.group : "",
                    std::isinf(r.below) ? toolkit::role_name(r.role) : "", toolkit::regime_name(r),
                    fmt::format("{}", r.model.n), percents(r.model.mean), percents(r.model.median),
                    percents(r.model.bias), percents(r.datasheet.mean), percents(r.constants.mean),
                    percents(r.coverage), percents(r.half_width)});
  fmt::print("errors of predicted / measured - 1, %\n{}", table(rows));
  if (!a.programs.empty()) print_programs(a.programs);
  std::vector<std::vector<std::string>> bars = {{"bar", "value", "bound", "holds"}};
  for (const toolkit::AccuracyBar& b : a.bars)
    bars.push_back({b.name, toolkit::figure_text(b, b.value),
                    (b.at_least ? ">= " : "<= ") + toolkit::figure_text(b, b.bar),
                    b.holds ? "yes" : "no"});
  fmt::print("\n{}", table(bars));
}

Json json_of(const toolkit::ErrorSummary& s) {
  return {{"n", s.n},
          {"mean", s.mean},
          {"median", s.median},
          {"worst_tenth", s.worst_tenth},
          {"bias", s.bias}};
}

Json json_of(const toolkit::Accuracy& a) {
  Json rows = Json::array(), groups = Json::array(), programs = Json::array();
  for (const toolkit::AccuracyBar& b : a.bars)
    rows.push_back({{"name", b.name}, {"value", b.value}, {"bar", b.bar}, {"holds", b.holds}});
  for (const toolkit::ProgramAccuracy& p : a.programs)
    programs.push_back({{"device", p.device},
                        {"group", p.group},
                        {"role", toolkit::role_name(p.role)},
                        {"model", json_of(p.errors)},
                        {"kendall", p.kendall},
                        {"spearman", p.spearman},
                        {"regret", p.regret},
                        {"subset_regret", p.subset_regret}});
  for (const toolkit::AccuracyRow& r : a.rows)
    groups.push_back({{"device", r.device},
                      {"group", r.group},
                      {"role", toolkit::role_name(r.role)},
                      {"regime", toolkit::regime_name(r)},
                      {"model", json_of(r.model)},
                      {"datasheet_roofline", json_of(r.datasheet)},
                      {"three_constants", json_of(r.constants)},
                      {"coverage", r.coverage},
                      {"half_width", r.half_width},
                      {"refused", r.refused}});
  return {{"rows", rows}, {"groups", groups}, {"programs", programs}};
}

Diags write_files(const Request& r, const toolkit::Accuracy& a) {
  if (!r.residuals.empty())
    if (Diags failed = write_text(r.residuals, a.residuals); !failed.empty()) return failed;
  return r.report.empty() ? Diags{} : write_text(r.report, toolkit::accuracy_page(a));
}

}  // namespace

ExitCode run_accuracy(const Command& self, std::span<const std::string> arguments,
                      const Context& context) {
  Request r;
  Options options(self);
  declare(options, r);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<toolkit::Reference> reference = toolkit::read_reference(r.reference);
  if (!reference) return failed(reference.diags(), context);
  ProgressLine progress(context);
  r.accuracy.progress = progress.callback();
  r.accuracy.cancel = context.cancel;
  const Result<toolkit::Accuracy> a = toolkit::accuracy(*reference, r.accuracy);
  if (!a) return failed(a.diags(), context);
  progress.clear();
  if (const Diags unwritten = write_files(r, *a); !unwritten.empty())
    return failed(unwritten, context);
  if (options.format() == Format::json)
    print_json(json_of(*a));
  else
    print_text(*a);
  print_diags(a->notes);
  return ExitCode::ok;
}

}  // namespace assay::cli
