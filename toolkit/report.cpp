#include "toolkit/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "model/machine.h"
#include "simulator/read_from.h"
#include "support/page/text.h"
#include "support/process/process.h"
#include "toolkit/compile.h"
#include "toolkit/plan_graph.h"
#include "toolkit/plan_page.h"
#include "toolkit/plan_picture.h"
#include "toolkit/profiles.h"
#include "toolkit/schedule_chart.h"

namespace assay::toolkit {
namespace {

// Of a plan with more steps, programs are drawn and not their nodes, and repetitions once.
constexpr size_t kManySteps = 40;

// Numbers below kStepColours, so that neighbours differ.
std::vector<int> colours_of(size_t steps) {
  std::vector<int> out(steps);
  for (size_t i = 0; i < steps; ++i) out[i] = static_cast<int>(i % kStepColours);
  return out;
}

const std::string& name_of(const ir::Plan& plan, int tensor) {
  return plan.tensors[static_cast<size_t>(tensor)].name;
}

// The colour of the later plan's step that computes the same: it makes this tensor, or keeps it on
// the chip for the step that does.
std::vector<int> colours_by(const ir::Plan& before, const ir::Plan& after,
                            const std::vector<int>& colours) {
  std::map<std::string, int> by_output;
  for (size_t s = 0; s < after.steps.size(); ++s)
    for (const int made : ir::written_by(after, after.steps[s]))
      by_output[name_of(after, made)] = colours[s];
  std::vector<int> out(before.steps.size(), 0);
  for (size_t s = before.steps.size(); s-- > 0;) {
    const int made = before.steps[s].arguments.back();
    const auto known = by_output.find(name_of(before, made));
    if (known != by_output.end()) {
      out[s] = known->second;
      continue;
    }
    for (size_t reader = s + 1; reader < before.steps.size(); ++reader) {
      const std::span<const int> read = ir::read_by(before, before.steps[reader]);
      if (std::find(read.begin(), read.end(), made) == read.end()) continue;
      out[s] = out[reader];
      break;
    }
  }
  return out;
}

// Graphviz draws boxes, then arrows over their labels: these labels move to the end.
std::string labels_last(std::string svg) {
  constexpr std::string_view kBegin = "<text", kEnd = "</text>\n";
  std::string labels;
  for (size_t box = svg.find("class=\"cluster"); box != std::string::npos;
       box = svg.find("class=\"cluster", box + 1))
    for (size_t at = svg.find(kBegin, box); at < svg.find("</g>", box);
         at = svg.find(kBegin, box)) {
      const size_t size = svg.find(kEnd, at) + kEnd.size() - at;
      labels += svg.substr(at, size);
      svg.erase(at, size);
    }
  const size_t last = svg.rfind("</g>");
  if (last == std::string::npos) return svg;
  return svg.insert(last, "<g class=\"labels\">\n" + labels + "</g>\n");
}

// The element of a page, without what only files need and the names of nodes, which browsers show.
std::string element_of(const std::string& svg) {
  std::string out;
  size_t at = svg.find("<svg");
  while (at < svg.size()) {
    const size_t comment = svg.find("<!--", at), title = svg.find("<title>", at),
                 skip = std::min(comment, title);
    if (skip == std::string::npos) return out + svg.substr(at);
    out += svg.substr(at, skip - at);
    const std::string_view end = skip == comment ? "-->" : "</title>";
    at = svg.find(end, skip);
    if (at != std::string::npos) at += end.size();
  }
  return out;
}

Result<std::string> drawn_by(const ReportOptions& options, const std::string& dot) {
  const process::Filtered made = process::filter({options.graphviz, "-Tsvg"}, dot, options.cancel);
  if (made.outcome.ending == process::Ending::cancelled) return error("cancelled");
  if (!made.outcome.good() || made.output.find("<svg") == std::string::npos)
    return error(
        fmt::format("{} could not draw the graph: {}", options.graphviz,
                    made.messages.empty() ? "it printed nothing" : made.messages.substr(0, 1000)));
  return labels_last(element_of(made.output));
}

bool has_many(const ir::Plan& plan) { return plan.steps.size() > kManySteps; }

std::vector<Repeats> folded(const ir::Plan& plan) {
  return has_many(plan) ? repeats_of(plan) : std::vector<Repeats>{};
}

// Per step, the one whose box stands for it.
std::vector<int> boxes_of(const ir::Plan& plan) {
  std::vector<int> out;
  for (size_t s = 0; s < plan.steps.size(); ++s) out.push_back(static_cast<int>(s));
  for (const Repeats& r : folded(plan))
    for (int s = r.first; s < r.end(); ++s)
      out[static_cast<size_t>(s)] = r.first + (s - r.first) % r.period;
  return out;
}

struct Shown {
  const ir::Plan& plan;
  std::span<const model::Estimate> estimates;
  std::vector<int> colours;
};

Result<std::string> picture_of(const Shown& shown, const std::string& id,
                               const model::Machine& machine, const ReportOptions& options) {
  PlanPicture picture{id, {}, shown.colours, folded(shown.plan)};
  for (const model::Estimate& e : shown.estimates)
    picture.times.push_back(page::human(e.seconds, page::Kind::seconds));
  const DrawnPlan graph =
      drawn(shown.plan, simulator::read_from(shown.plan, machine), machine.levels.back().name,
            has_many(shown.plan) ? Detail::programs : Detail::nodes);
  return drawn_by(options, dot_text(graph, picture));
}

std::vector<model::LevelUse> traffic_of(std::span<const model::Estimate> steps) {
  std::vector<model::LevelUse> out;
  for (const model::Estimate& e : steps) model::add_levels(out, e.levels);
  return out;
}

}  // namespace

compiler::Fuse simpler_than(const ir::Plan& plan) {
  return std::ranges::any_of(plan.programs,
                             [](const ir::Program& p) { return !p.producers.empty(); })
             ? compiler::Fuse::elementwise
             : compiler::Fuse::none;
}

Result<std::string> find_graphviz() {
  std::string path = process::find_program("dot");
  if (path.empty())
    return error("Graphviz draws the graph, and there is no program 'dot' on PATH",
                 "install the package graphviz");
  return path;
}

Result<Report> report_of(const Bundle& bundle, const ReportOptions& options) {
  const Result<hwdesc::Target> target = target_of(bundle.profile, bundle.api);
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  CompileOptions choose;
  choose.fuse = options.before;
  choose.progress = options.progress;
  choose.cancel = options.cancel;
  const Result<compiler::Compiled> before = choose_programs(bundle.graph, *target, choose);
  if (!before) return before.diags();
  const simulator::PlanEstimate estimate = simulator::simulate(bundle.plan, *machine);
  const std::vector<int> colours = colours_of(bundle.plan.steps.size());
  const Shown after_shown{bundle.plan, bundle.estimates, colours},
      before_shown{before->plan, before->estimates, colours_by(before->plan, bundle.plan, colours)};
  Result<std::string> left = picture_of(before_shown, "before", *machine, options);
  if (!left) return left.diags();
  Result<std::string> right = picture_of(after_shown, "after", *machine, options);
  if (!right) return right.diags();
  const std::vector<TraceSlice> slices = bundle.plan.transfers.empty()
                                             ? slices_of(bundle.plan, estimate.timeline)
                                             : std::vector<TraceSlice>{};
  const compiler::ScheduleBounds bounds = bundle.plan.schedule.empty() && bundle.plan.phases.empty()
                                              ? compiler::ScheduleBounds{}
                                              : compiler::schedule_bounds(bundle.plan, *machine);
  const PlanPage page{
      bundle,
      options.before == compiler::Fuse::none ? "each node is a step"
                                             : "each tile-graph with one reduction is a step",
      {before->plan, before->estimates, before->total, traffic_of(before->estimates),
       std::move(*left), before_shown.colours, boxes_of(before->plan)},
      {bundle.plan, bundle.estimates, bundle.total, traffic_of(bundle.estimates), std::move(*right),
       colours, boxes_of(bundle.plan)},
      schedule_svg({slices, colours, estimate.total.seconds, bounds.critical_path, bounds.work}),
      bounds};
  return Report{plan_page(page), before->plan.steps.size(), bundle.plan.steps.size(),
                before->total.seconds, bundle.total.seconds};
}

}  // namespace assay::toolkit
