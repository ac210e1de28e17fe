// assay estimate
#include <fmt/format.h>

#include <sstream>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/model_options.h"
#include "hwdesc/print.h"
#include "support/files/files.h"
#include "toolkit/estimate_json.h"
#include "toolkit/estimate_operators.h"
#include "toolkit/factors.h"
#include "toolkit/model_type.h"
#include "toolkit/simulate.h"

namespace assay::cli {
namespace {

using toolkit::GraphEstimate;
using toolkit::Json;
using toolkit::OperatorEstimate;

struct Request : EstimateWords {
  std::string batch, factors;
  bool explain = false;
};

void declare(Options& options, Request& r) {
  declare_estimate(options, r);
  options.add_option("--batch-file", r.batch, "file with an operator a line, as --op takes it")
      .type_name("FILE");
  options
      .add_option("--factors", r.factors,
                  "correct a library's estimates; see `assay calibrate --data`")
      .type_name("FILE.yaml");
  options.add_flag("--explain", r.explain, "print the terms of each estimate");
  options.add_format({Format::text, Format::csv, Format::json});
}

// One line of the batch, or the one operator.
struct Line {
  std::string op, type;
  std::optional<GraphEstimate> estimate;
};

std::string csv_of(const Line& line) {
  if (!line.estimate) return fmt::format("{},{},,,,\n", line.op, line.type);
  const model::Estimate& e = line.estimate->total;
  return fmt::format("{},{},{:.6g},{:.6g},{:.6g},{}\n", line.op, line.type, e.seconds, e.low,
                     e.high, e.bound);
}

Json json_of(const OperatorEstimate& o) {
  Json out = {{"operator", o.label}, {"type", o.type}, {"entry", o.entry}};
  out.update(toolkit::to_json(o.estimate));
  if (!o.lost.empty()) out["lost"] = o.lost;
  return out;
}

Json json_of(const Line& line) {
  Json out = {{"op", line.op}, {"type", line.type}};
  if (!line.estimate) return out;
  const GraphEstimate& g = *line.estimate;
  out["software"] = g.software == toolkit::Software::library ? "library" : "assay";
  out["printable"] = g.why_not_printable.empty();
  if (!g.why_not_printable.empty()) out["why_not_printable"] = g.why_not_printable;
  out["total"] = toolkit::to_json(g.total);
  out["operators"] = Json::array();
  for (const OperatorEstimate& o : g.operators) out["operators"].push_back(json_of(o));
  return out;
}

std::vector<std::string> row(const std::string& label, const std::string& type,
                             const std::string& entry, const model::Estimate& e) {
  return {shortened(label, kLabelWidth),
          type,
          duration(e.seconds),
          duration(e.low) + " .. " + duration(e.high),
          fmt::format("{:.1f}", e.seconds > 0 ? e.flops / e.seconds * 1e-9 : 0),
          e.bound,
          entry};
}

void print_text(const GraphEstimate& g, bool explain) {
  const bool library = g.software == toolkit::Software::library;
  std::vector<std::vector<std::string>> rows = {{"operator", "type", "estimate", "interval",
                                                 "Gflop/s", "bound",
                                                 library ? "entry" : "program"}};
  for (const OperatorEstimate& o : g.operators)
    rows.push_back(row(o.label, o.type, o.entry, o.estimate));
  if (g.operators.size() > 1) rows.push_back(row("total", "", "", g.total));
  fmt::print("{}", table(rows));
  fmt::print("printable: {}\n", g.why_not_printable.empty() ? "yes" : "no, " + g.why_not_printable);
  if (!explain) return;
  for (const OperatorEstimate& o : g.operators) {
    fmt::print("\n{}: {}\n{}{}", o.label, o.entry, o.mapping, toolkit::explanation(o.estimate));
    for (const std::string& other : o.lost) fmt::print("  lost: {}\n", other);
  }
}

std::string word_of(const std::string& op, const std::string& type) {
  const size_t at = op.find("type=");
  if (at == std::string::npos) return type.empty() ? "f32" : type;
  return op.substr(at + 5, op.find_first_of(" \t", at) - at - 5);
}

// The lines of the batch; each fault says its line.
Result<std::vector<Line>> estimate_batch(const Request& r,
                                         const toolkit::OperatorEstimator& estimator, Diags& bad) {
  const Result<std::string> text = read_text(r.batch);
  if (!text) return text.diags();
  std::vector<Line> out;
  std::istringstream lines(*text);
  std::string op;
  for (int number = 1; std::getline(lines, op); ++number) {
    if (!op.empty() && op.back() == '\r') op.pop_back();
    if (op.empty() || op.front() == '#') continue;
    Line line{op, word_of(op, r.type), {}};
    Result<GraphEstimate> estimate = estimator.estimate(op, r.type);
    if (estimate) {
      line.estimate = std::move(*estimate);
    } else {
      for (Diag d : estimate.diags()) {
        d.file = r.batch;
        d.line = number;
        bad.push_back(std::move(d));
      }
    }
    out.push_back(std::move(line));
  }
  return out;
}

Result<std::vector<Line>> estimate_one(const Request& r,
                                       const toolkit::OperatorEstimator& estimator) {
  if (!r.op.empty()) {
    Result<GraphEstimate> estimate = estimator.estimate(r.op, r.type);
    if (!estimate) return estimate.diags();
    return std::vector<Line>{{r.op, word_of(r.op, r.type), std::move(*estimate)}};
  }
  toolkit::CompileOptions shapes;
  const Diags wrong = read_shapes(r.shapes, shapes);
  if (!wrong.empty()) return wrong;
  const Result<toolkit::Model> model = toolkit::read_model(r.model, shapes);
  if (!model) return model.diags();
  Result<GraphEstimate> estimate = estimator.estimate_typed(model->graph, r.type);
  if (!estimate) return estimate.diags();
  estimate->notes.insert(estimate->notes.begin(), model->notes.begin(), model->notes.end());
  return std::vector<Line>{
      {r.model, r.type.empty() ? toolkit::types_of(model->graph) : r.type, std::move(*estimate)}};
}

// Launches and caches are those of the measurements, where no others are asked for.
Diags add_factors(const Request& r, const hwdesc::Profile& profile,
                  toolkit::EstimateOptions& options, Diags& notes) {
  if (r.factors.empty()) return {};
  const Result<std::string> text = read_text(r.factors);
  if (!text) return text.diags();
  const Result<toolkit::FittedFactors> fitted = toolkit::parse_factors(*text, r.factors);
  if (!fitted) return fitted.diags();
  if (fitted->profile != hwdesc::hash_of(profile)) {
    Diag d =
        error(fmt::format("the factors are of '{}' with hash {}", fitted->name, fitted->profile),
              "of another chip, or of this one with other values");
    d.severity = Severity::note;
    d.file = r.factors;
    notes.push_back(std::move(d));
  }
  if (!options.launch) options.launch = fitted->launch;
  if (!options.warm) options.warm = fitted->caches == "warm";
  if (!options.software) options.software = toolkit::Software::library;
  for (const toolkit::FittedKind& k : fitted->kinds) options.factors.push_back(k.factors);
  return {};
}

Result<std::vector<Line>> estimate(const Request& r, Diags& bad, Diags& notes) {
  const int given = int{!r.model.empty()} + int{!r.op.empty()} + int{!r.batch.empty()};
  if (given != 1)
    return error("one of MODEL.onnx, --op and --batch-file is needed", "`assay estimate --help`");
  if (r.model.empty() && !(r.shapes.dims.empty() && r.shapes.shapes.empty()))
    return error("--dim and --shape are for models: an operator says its own extents");
  const Result<hwdesc::Profile> profile = profile_of(r.profile, r.overrides);
  if (!profile) return profile.diags();
  toolkit::EstimateOptions options = options_of(r);
  if (const Diags wrong = add_factors(r, *profile, options, notes); !wrong.empty()) return wrong;
  const auto estimator = toolkit::OperatorEstimator::open(*profile, options);
  if (!estimator) return estimator.diags();
  return r.batch.empty() ? estimate_one(r, *estimator) : estimate_batch(r, *estimator, bad);
}

}  // namespace

ExitCode run_estimate(const Command& self, std::span<const std::string> arguments,
                      const Context& context) {
  Request request;
  Options options(self);
  declare(options, request);
  if (const auto stop = options.parse(arguments)) return *stop;
  Diags bad, notes;
  const Result<std::vector<Line>> lines = estimate(request, bad, notes);
  if (!lines) return failed(lines.diags(), context);
  if (options.format() == Format::csv) {
    std::string out = "op,type,seconds,low,high,bound\n";
    for (const Line& line : *lines) out += csv_of(line);
    fmt::print("{}", out);
  } else if (options.format() == Format::json) {
    Json out = Json::array();
    for (const Line& line : *lines) out.push_back(json_of(line));
    print_json(request.batch.empty() ? out.at(0) : out);
  } else {
    for (const Line& line : *lines)
      if (line.estimate) print_text(*line.estimate, request.explain);
  }
  print_diags(notes);
  for (const Line& line : *lines)
    if (line.estimate) print_diags(line.estimate->notes);
  print_diags(bad);
  return bad.empty() ? ExitCode::ok : ExitCode::no;
}

}  // namespace assay::cli
