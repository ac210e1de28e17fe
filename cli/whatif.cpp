// assay whatif
#include "toolkit/whatif.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/model_options.h"
#include "toolkit/estimate_json.h"

namespace assay::cli {
namespace {

using toolkit::GraphEstimate;
using toolkit::Json;

constexpr size_t kShown = 20;  // sensitivities in the text

struct Request : EstimateWords {
  std::string other;  // profile
  std::vector<std::string> other_overrides;
  bool against = false, sensitivity = false;
};

void declare(Options& options, Request& r) {
  declare_estimate(options, r);
  options.add_flag("--against", r.against, "--set and --profile behind it are the other chip's");
  options.add_flag("--sensitivity", r.sensitivity,
                   "how the time changes with each number: x1.05 and x2");
  options.add_format();
}

// The words behind `--against`: any number of `--set CHANGE`, and one `--profile P`.
Diags read_other(std::span<const std::string> words, Request& r) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto is = [&](const std::string& name) {
      return word == name || word.starts_with(name + "=");
    };
    if (!is("--set") && !is("--profile"))
      return {error("'" + word + "' stands behind --against",
                    "only --set and --profile of the other chip do; put others before it")};
    std::string& to = is("--set") ? r.other_overrides.emplace_back() : r.other;
    const size_t equals = word.find('=');
    if (equals != std::string::npos)
      to = word.substr(equals + 1);
    else if (++i < words.size())
      to = words[i];
    else
      return {error(word + " is without its value")};
  }
  return {};
}

Result<ir::Graph> graph_of(const Request& r, Diags& notes) {
  if (r.model.empty() == r.op.empty())
    return error("one of MODEL.onnx and --op is needed", "`assay whatif --help`");
  if (!r.op.empty()) return toolkit::OperatorEstimator::graph_of(r.op, r.type);
  toolkit::CompileOptions shapes;
  const Diags wrong = read_shapes(r.shapes, shapes);
  if (!wrong.empty()) return wrong;
  Result<toolkit::Model> model = toolkit::read_model(r.model, shapes);
  if (!model) return model.diags();
  notes = model->notes;
  return std::move(model->graph);
}

std::string times(double from, double to) {
  return from > 0 ? fmt::format("{:.2f}", to / from) : "-";
}

void print_text(const toolkit::WhatIf& w, const std::string& before, const std::string& after) {
  std::vector<std::vector<std::string>> rows = {{"operator", "before", "bound", "same program",
                                                 "bound", "ratio", "chosen anew", "bound",
                                                 "ratio"}};
  const auto cell = [](const GraphEstimate& g, size_t i, bool bound) -> std::string {
    if (i >= g.operators.size()) return "-";
    const model::Estimate& e = g.operators[i].estimate;
    return bound ? e.bound : duration(e.seconds);
  };
  const bool aligned = w.anew.operators.size() == w.before.operators.size();
  for (size_t i = 0; i < w.before.operators.size(); ++i) {
    const double from = w.before.operators[i].estimate.seconds;
    const auto ratio = [&](const GraphEstimate& g) {
      return i < g.operators.size() ? times(from, g.operators[i].estimate.seconds) : "-";
    };
    rows.push_back({shortened(w.before.operators[i].label, kLabelWidth), duration(from),
                    w.before.operators[i].estimate.bound, cell(w.fixed, i, false),
                    cell(w.fixed, i, true), ratio(w.fixed), aligned ? cell(w.anew, i, false) : "-",
                    aligned ? cell(w.anew, i, true) : "-", aligned ? ratio(w.anew) : "-"});
  }
  const double from = w.before.total.seconds;
  const bool ran = !w.fixed.operators.empty();
  rows.push_back({"total", duration(from), w.before.total.bound,
                  ran ? duration(w.fixed.total.seconds) : "-", ran ? w.fixed.total.bound : "-",
                  ran ? times(from, w.fixed.total.seconds) : "-", duration(w.anew.total.seconds),
                  w.anew.total.bound, times(from, w.anew.total.seconds)});
  fmt::print("{} against {}\n{}", before, after, table(rows));
  for (size_t i = 0; aligned && i < w.before.operators.size(); ++i)
    if (w.before.operators[i].entry != w.anew.operators[i].entry)
      fmt::print("{}: {} -> {}\n", w.before.operators[i].label, w.before.operators[i].entry,
                 w.anew.operators[i].entry);
}

void print_text(const std::vector<toolkit::Sensitivity>& all) {
  std::vector<std::vector<std::string>> rows = {{"parameter", "assumed", "x1.05", "x2"}};
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i)
    rows.push_back({all[i].path, all[i].assumed ? "yes" : "no", percent(all[i].slightly),
                    percent(all[i].doubled)});
  fmt::print("\nchange of the time, programs as they are\n{}", table(rows));
  const auto worst = std::find_if(all.begin(), all.end(), [](const auto& s) { return s.assumed; });
  fmt::print("weakest assumption: {}\n", worst == all.end() ? "none that matters" : worst->path);
}

Json json_of(const GraphEstimate& g) {
  Json out = {{"total", toolkit::to_json(g.total)}, {"operators", Json::array()}};
  for (const toolkit::OperatorEstimate& o : g.operators) {
    Json row = {{"operator", o.label}, {"entry", o.entry}};
    row.update(toolkit::to_json(o.estimate));
    out["operators"].push_back(std::move(row));
  }
  return out;
}

}  // namespace

ExitCode run_whatif(const Command& self, std::span<const std::string> arguments,
                    const Context& context) {
  Request r;
  Options options(self);
  declare(options, r);
  const auto split = std::find(arguments.begin(), arguments.end(), "--against");
  const auto first = static_cast<size_t>(split - arguments.begin());
  if (const auto stop = options.parse(arguments.first(first))) return *stop;
  r.against = split != arguments.end();
  const Diags wrong = r.against ? read_other(arguments.subspan(first + 1), r) : Diags{};
  if (!wrong.empty()) return failed(wrong, context);
  if (!r.against && !r.sensitivity)
    return failed({error("nothing is asked", "--against --set ..., or --sensitivity")}, context);
  const toolkit::EstimateOptions asked = options_of(r);
  Diags notes;
  const Result<ir::Graph> graph = graph_of(r, notes);
  if (!graph) return failed(graph.diags(), context);
  const Result<hwdesc::Profile> before = profile_of(r.profile, r.overrides);
  if (!before) return failed(before.diags(), context);
  const bool json = options.format() == Format::json;
  Json out = Json::object();
  if (r.against) {
    const Result<hwdesc::Profile> after =
        profile_of(r.other.empty() ? r.profile : r.other, r.other_overrides);
    if (!after) return failed(after.diags(), context);
    const Result<toolkit::WhatIf> w = toolkit::what_if(*graph, *before, *after, asked);
    if (!w) return failed(w.diags(), context);
    notes.insert(notes.end(), w->notes.begin(), w->notes.end());
    out["before"] = json_of(w->before);
    out["fixed"] = w->fixed.operators.empty() ? Json() : json_of(w->fixed);
    out["anew"] = json_of(w->anew);
    if (!json)
      print_text(*w, before->name, after->name + (r.other_overrides.empty() ? "" : " changed"));
  }
  if (r.sensitivity) {
    const auto all = toolkit::sensitivities(*graph, *before, asked);
    if (!all) return failed(all.diags(), context);
    out["sensitivity"] = Json::array();
    for (const toolkit::Sensitivity& s : *all)
      out["sensitivity"].push_back({{"path", s.path},
                                    {"assumed", s.assumed},
                                    {"slightly", s.slightly},
                                    {"doubled", s.doubled}});
    if (!json) print_text(*all);
  }
  if (json) print_json(out);
  print_diags(notes);
  return ExitCode::ok;
}

}  // namespace assay::cli
