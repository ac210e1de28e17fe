// assay run
#include "toolkit/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "cli/calibration_option.h"
#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/model_options.h"
#include "cli/step_rows.h"
#include "support/files/files.h"
#include "toolkit/devices.h"
#include "toolkit/input_ranges.h"
#include "toolkit/profiles.h"
#include "toolkit/summary.h"
#include "toolkit/trace.h"
#include "toolkit/verify_programs.h"

namespace assay::cli {
namespace {

struct Request {
  std::string bundle, device, input, reference, output, summary, calibration, trace;
  bool check = false, check_programs = false;
  uint64_t seed = 0;
  toolkit::RunOptions run;
};

void declare(Options& options, Request& r) {
  options.add_option("DIR", r.bundle, "bundle that `assay compile` wrote").required();
  options
      .add_option("--device", r.device,
                  "see `assay devices` (default: the first that runs the bundle's api)")
      .type_name("ID");
  options.add_option("--repeat", r.run.repeat, "timed runs, of which the median is reported")
      .type_name("N")
      .capture_default_str()
      .range(1, 1000000);
  options.add_option("--warm-up", r.run.warm_up, "untimed runs before them")
      .type_name("N")
      .capture_default_str()
      .range(0, 1000000);
  options
      .add_option("--patience", r.run.patience,
                  "time for repeating runs that were disturbed or not as probed")
      .type_name("SECONDS")
      .capture_default_str()
      .range(0, 3600);
  options.add_flag("--recorded", r.run.recorded,
                   "also time one launch of all kernels, recorded as a graph");
  options.add_flag("--check", r.check, "compare with a float64 evaluation; exit 1 if wrong");
  options.add_flag("--check-programs", r.check_programs,
                   "check each program alone; exit 1 if wrong");
  options.add_option("--reference", r.reference, "reference outputs, raw float32")
      .type_name("FILE");
  options
      .add_option("--input", r.input,
                  "inputs, raw float32 (default: random, integers as their use allows)")
      .type_name("FILE");
  options.add_option("--output", r.output, "write the outputs there, raw float32")
      .type_name("FILE");
  options.add_option("--seed", r.seed, "seed of random inputs")
      .type_name("N")
      .capture_default_str();
  options
      .add_option("--calibration", r.calibration,
                  "also print calibrated predictions; see `assay calibrate`")
      .type_name("FILE.yaml");
  options
      .add_option("--trace", r.trace, "also write what each unit does when, beside the prediction")
      .type_name("FILE.json");
  options.add_option("--summary", r.summary, "also write the result as JSON").type_name("FILE");
  options.add_format();
}

struct Ready {
  toolkit::Bundle bundle;
  toolkit::Values inputs;
  std::optional<toolkit::Calibration> calibration;
};

Result<Ready> prepare(const Request& r) {
  Ready ready;
  for (const std::string& path : {r.summary, r.output, r.trace}) {
    const Diags unwritable = path.empty() ? Diags{} : check_writable(path);
    if (!unwritable.empty()) return unwritable;
  }
  Result<toolkit::Bundle> bundle = toolkit::read_bundle(r.bundle, {r.check});
  if (!bundle) return bundle.diags();
  ready.bundle = std::move(*bundle);
  if (!r.calibration.empty()) {
    Result<toolkit::Calibration> calibration =
        load_calibration_for(r.calibration, ready.bundle.profile, ready.bundle.api);
    if (!calibration) return calibration.diags();
    ready.calibration = std::move(*calibration);
  }
  if (r.input.empty()) {
    ready.inputs = toolkit::generate_inputs(ready.bundle.graph, r.seed);
    return ready;
  }
  Result<toolkit::Values> inputs = toolkit::read_inputs(ready.bundle.graph, r.input);
  if (!inputs) return inputs.diags();
  ready.inputs = std::move(*inputs);
  return ready;
}

Result<std::optional<toolkit::Verdict>> judge(const Request& r, const Ready& ready,
                                              const toolkit::Values& outputs) {
  if (r.reference.empty() && !r.check) return std::optional<toolkit::Verdict>{};
  const ir::Graph& graph = ready.bundle.graph;
  Result<toolkit::Verdict> v =
      !r.reference.empty() ? toolkit::check_reference(graph, r.reference, outputs)
      : graph.nodes.size() > 1 && toolkit::has_steps_inside(graph)
          ? toolkit::check_steps(ready.bundle, ready.inputs, outputs, r.run)
          : toolkit::check_outputs(graph, ready.inputs, outputs);
  if (!v) return v.diags();
  return std::optional<toolkit::Verdict>(std::move(*v));
}

std::vector<std::string> row(const std::string& name, double predicted, double low, double high,
                             const toolkit::Times& t, const std::string& bound,
                             const std::optional<toolkit::Span>& calibrated) {
  std::vector<std::string> out = {shortened(name, kLabelWidth),
                                  duration(predicted),
                                  duration(low) + " .. " + duration(high),
                                  duration(t.median),
                                  percent(toolkit::prediction_error(predicted, t.median)),
                                  bound};
  if (!calibrated) return out;
  const std::string more[] = {duration(calibrated->seconds),
                              duration(calibrated->low) + " .. " + duration(calibrated->high),
                              percent(toolkit::prediction_error(calibrated->seconds, t.median))};
  out.insert(out.end(), std::begin(more), std::end(more));
  return out;
}

void print_verdict(const toolkit::Verdict& v) {
  fmt::print("{}: {} values against {}, max relative error {:.2g}",
             v.verified ? "verified" : "WRONG", v.values, v.against, v.max_relative_error);
  if (v.wrong > 0) fmt::print(", {} beyond their bound", v.wrong);
  if (!v.where.empty()) fmt::print(", the first in {}", v.where);
  fmt::print("\n");
}

void print_recorded(const toolkit::RecordedSummary& r, const toolkit::Times& one_by_one) {
  fmt::print("recorded as one launch: {}, {:.2f} of separate launches; ",
             duration(r.measured.median), r.measured.median / one_by_one.median);
  if (r.predicted)
    fmt::print("predicted {} ({} .. {}), {}\n", duration(r.predicted->seconds),
               duration(r.predicted->low), duration(r.predicted->high),
               percent(toolkit::prediction_error(r.predicted->seconds, r.measured.median)));
  else
    fmt::print("not predicted: launch.graph is unknown in the profile\n");
}

void print_as_probed(const probe::AsProbed& now, int batches) {
  fmt::print("around the timed runs multiply-adds ran at {:.2f}", now.multiply_adds);
  if (now.dirty_remote_read > 0)
    fmt::print(", and units read each other's data at {:.2f},", now.dirty_remote_read);
  fmt::print(" of the profile's rate{}\n",
             batches > 1 ? fmt::format("; the least disturbed of {} batches", batches) : "");
}

void print_as_it_ran(const toolkit::Summary& s) {
  fmt::print(
      "for the placement of units at that time: predicted {} ({} .. {}), {}; mean error of "
      "operators "
      "{:.1f} %, {:.1f} % with the profile's placement\n",
      duration(s.as_it_ran->seconds), duration(s.as_it_ran->low), duration(s.as_it_ran->high),
      percent(toolkit::prediction_error(s.as_it_ran->seconds, s.measured.median)),
      100 * toolkit::mean_error(s, true), 100 * toolkit::mean_error(s, false));
}

// Steps of one row; the median of a sum is taken as the sum of the medians.
toolkit::OperatorSummary sum_of(const std::vector<toolkit::OperatorSummary>& operators,
                                const std::vector<size_t>& alike) {
  toolkit::OperatorSummary out = operators[alike[0]];
  for (const size_t i : alike) {
    const toolkit::OperatorSummary& o = operators[i];
    if (i == alike[0]) continue;
    out.predicted_s += o.predicted_s;
    out.low_s += o.low_s;
    out.high_s += o.high_s;
    out.measured.median += o.measured.median;
    if (!out.calibrated || !o.calibrated) continue;
    out.calibrated->seconds += o.calibrated->seconds;
    out.calibrated->low += o.calibrated->low;
    out.calibrated->high += o.calibrated->high;
  }
  return out;
}

// Of a simulated chip, nothing is measured.
std::vector<std::string> row(const toolkit::TransferSummary& t, const toolkit::Summary& s) {
  std::vector<std::string> out = {
      label_of_transfers(t.download, t.count, t.bytes),
      duration(t.predicted_s),
      duration(t.low_s) + " .. " + duration(t.high_s),
      t.measured ? duration(t.measured->median) : "",
      t.measured ? percent(toolkit::prediction_error(t.predicted_s, t.measured->median)) : "",
      "link"};
  if (s.calibrated) out.resize(out.size() + 3);
  return out;
}

// A simulated chip counts what its caches fetch and write.
void print_traffic(const std::vector<toolkit::TrafficSummary>& traffic) {
  std::vector<std::vector<std::string>> rows = {{"bytes over", "predicted", "counted", "error"}};
  for (const toolkit::TrafficSummary& t : traffic)
    rows.push_back({t.boundary, bytes(t.predicted), bytes(t.counted),
                    t.counted > 0 ? percent(toolkit::prediction_error(t.predicted, t.counted))
                                  : std::string()});
  fmt::print("{}", table(rows));
}

void print_text(const toolkit::Summary& s) {
  std::vector<std::vector<std::string>> rows = {
      {"operator", "predicted", "interval", "measured", "error", "bound"}};
  if (s.calibrated) rows[0].insert(rows[0].end(), {"calibrated", "interval", "error"});
  std::vector<std::string> labels;
  for (const toolkit::OperatorSummary& o : s.operators) labels.push_back(o.label);
  for (const std::vector<size_t>& alike : step_rows(labels, s.streamed)) {
    const toolkit::OperatorSummary o = sum_of(s.operators, alike);
    rows.push_back(row(label_of_row(o.label, alike.size()), o.predicted_s, o.low_s, o.high_s,
                       o.measured, o.bound, o.calibrated));
    if (o.left_out) {
      rows.back()[3] = "left out";
      for (size_t error = 4; error < rows.back().size(); error += 4) rows.back()[error] = "";
    }
  }
  for (const toolkit::TransferSummary& t : s.transfers) rows.push_back(row(t, s));
  rows.push_back(row("total", s.predicted_s, s.low_s, s.high_s, s.measured, "", s.calibrated));
  fmt::print("{} ({}) on {}\n{}", s.model, s.type, s.device, table(rows));
  for (const std::string& line : s.inputs) fmt::print("{}\n", line);
  if (const auto n = std::ranges::count(s.operators, true, &toolkit::OperatorSummary::left_out))
    fmt::print(
        "{} steps were left out: a branch that the inputs did not take; the total is predicted "
        "with the longer branch\n",
        n);
  fmt::print("measured quartiles {} .. {}; chosen in {}, kernels {}\n", duration(s.measured.low),
             duration(s.measured.high), duration(s.plan_s),
             s.build_s > 0 ? "built in " + duration(s.build_s) : "from the cache");
  if (!s.traffic.empty()) print_traffic(s.traffic);
  if (s.as_probed) print_as_probed(*s.as_probed, s.batches);
  if (s.as_it_ran) print_as_it_ran(s);
  if (s.recorded) print_recorded(*s.recorded, s.measured);
  if (s.verdict) print_verdict(*s.verdict);
}

using Programs = std::vector<toolkit::ProgramVerdict>;

void print_programs(const Programs& programs) {
  std::vector<std::vector<std::string>> rows = {
      {"program", "values", "wrong", "max relative error"}};
  for (const toolkit::ProgramVerdict& p : programs)
    rows.push_back({shortened(p.program, 48), std::to_string(p.verdict.values),
                    std::to_string(p.verdict.wrong),
                    fmt::format("{:.2g}", p.verdict.max_relative_error)});
  fmt::print("{}", table(rows));
}

toolkit::Json to_json(const Programs& programs) {
  toolkit::Json out = toolkit::Json::array();
  for (const toolkit::ProgramVerdict& p : programs)
    out.push_back({{"name", p.program},
                   {"verified", p.verdict.verified},
                   {"values", p.verdict.values},
                   {"wrong", p.verdict.wrong},
                   {"max_relative_error", p.verdict.max_relative_error}});
  return out;
}

struct Executed {
  toolkit::Summary summary;
  Diags notes;
};

// One tensor after the other.
Diags write_outputs(const std::string& path, const toolkit::Values& outputs) {
  if (path.empty()) return {};
  std::vector<float> all;
  for (const std::vector<float>& values : outputs)
    all.insert(all.end(), values.begin(), values.end());
  return write_file(path, std::as_bytes(std::span(all)));
}

Diags write_trace(const std::string& path, const toolkit::Bundle& bundle,
                  const toolkit::RunResult& ran) {
  if (path.empty()) return {};
  const Result<toolkit::TraceProcess> predicted = toolkit::predicted_trace(bundle);
  if (!predicted) return predicted.diags();
  const std::vector<toolkit::TraceProcess> both = {
      *predicted, {"measured, " + ran.device, ran.slices, bundle.estimates}};
  return write_text(path, toolkit::print_trace(both));
}

Result<Executed> execute(const Request& r, const Ready& ready) {
  Result<toolkit::RunResult> ran = toolkit::run_bundle(ready.bundle, ready.inputs, r.run);
  if (!ran) return ran.diags();
  if (const Diags unwritten = write_outputs(r.output, ran->outputs); !unwritten.empty())
    return unwritten;
  if (const Diags unwritten = write_trace(r.trace, ready.bundle, *ran); !unwritten.empty())
    return unwritten;
  toolkit::report(r.run.progress, 0, 1, "checking");
  const auto verdict = judge(r, ready, ran->outputs);
  if (!verdict) return verdict.diags();
  toolkit::Summary summary = toolkit::summarize(ready.bundle, *ran, *verdict,
                                                ready.calibration ? &*ready.calibration : nullptr);
  if (r.input.empty()) summary.inputs = toolkit::describe_inputs(ready.bundle.graph);
  if (!r.summary.empty()) {
    const Diags unwritten = write_text(r.summary, to_json(summary).dump(2) + "\n");
    if (!unwritten.empty()) return unwritten;
  }
  return Executed{std::move(summary), std::move(ran->notes)};
}

void print(const toolkit::Summary& summary, const Programs& programs, Format format) {
  if (format == Format::json) {
    toolkit::Json json = to_json(summary);
    if (!programs.empty()) json["programs"] = to_json(programs);
    print_json(json);
    return;
  }
  print_text(summary);
  if (!programs.empty()) print_programs(programs);
}

bool all_right(const toolkit::Summary& summary, const Programs& programs) {
  return (!summary.verdict || summary.verdict->verified) &&
         std::all_of(programs.begin(), programs.end(),
                     [](const auto& p) { return p.verdict.verified; });
}

ExitCode execute_and_print(Request& r, const Ready& ready, Format format, const Context& context) {
  ProgressLine progress(context);
  r.run.progress = progress.callback();
  r.run.cancel = context.cancel;
  r.run.traced = !r.trace.empty();
  const Result<Executed> executed = execute(r, ready);
  if (!executed) {
    progress.clear();
    return failed(executed.diags(), context);
  }
  const Result<Programs> programs =
      r.check_programs ? toolkit::verify_programs(ready.bundle, r.run) : Programs{};
  progress.clear();
  if (!programs) return failed(programs.diags(), context);
  print_diags(executed->notes);
  print(executed->summary, *programs, format);
  return all_right(executed->summary, *programs) ? ExitCode::ok : ExitCode::no;
}

}  // namespace

ExitCode run_run(const Command& self, std::span<const std::string> arguments,
                 const Context& context) {
  Request request;
  Options options(self);
  declare(options, request);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<Ready> ready = prepare(request);
  if (!ready) return failed(ready.diags(), context);
  const Result<std::string> device =
      request.device.empty() ? toolkit::first_device(ready->bundle.api) : request.device;
  if (device)
    request.run.device = *device;
  else if (ready->bundle.no_kernels.empty())
    return failed(device.diags(), context, ExitCode::device_unavailable);
  // Decides the exit code; the run opens the device again.
  const toolkit::Bundle& bundle = ready->bundle;
  const Diags fault = bundle.no_kernels.empty()
                          ? device_fault(bundle.profile, bundle.api, request.run.device)
                          : Diags{};
  if (!fault.empty()) return failed(fault, context, ExitCode::device_unavailable);
  return execute_and_print(request, *ready, options.format(), context);
}

}  // namespace assay::cli
