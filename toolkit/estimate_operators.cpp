#include "toolkit/estimate_operators.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/isa.h"
#include "compiler/library/library.h"
#include "hwdesc/library.h"
#include "simulator/estimate.h"
#include "support/quantity.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/simulate.h"

namespace assay::toolkit {
namespace {

Result<compiler::Catalogue> load_catalogue() {
  compiler::Catalogue out;
  Diags diags;
  for (const hwdesc::LibraryEntry& e : hwdesc::library())
    if (e.kind == hwdesc::LibraryKind::catalogue)
      for (Diag& d : compiler::parse_catalogue(e.text, e.file, out)) diags.push_back(std::move(d));
  if (!diags.empty()) return diags;
  return out;
}

Result<compiler::Residuals> load_residuals() {
  const hwdesc::LibraryEntry* e =
      hwdesc::find_in_library(hwdesc::LibraryKind::residuals, "library");
  if (e == nullptr) return compiler::Residuals{};
  return compiler::parse_residuals(e->text, e->file);
}

// The instructions of the profile that isa/ describes.
std::vector<ir::MatrixInstruction> described(const hwdesc::Profile& profile) {
  std::vector<ir::MatrixInstruction> out;
  for (const hwdesc::Instruction& i : profile.instructions) {
    const std::string name = i.use.substr(i.use.rfind('/') + 1);
    if (codegen::instruction_text(name).empty()) continue;
    if (const auto found = codegen::find_instruction(name)) out.push_back(found->computes);
  }
  return out;
}

Result<double> launch_of(const model::Machine& chip, const std::string& word) {
  const std::pair<const char*, const model::Quantity*> known[] = {{"eager", &chip.eager_launch},
                                                                  {"stream", &chip.stream_launch},
                                                                  {"graph", &chip.graph_launch}};
  for (const auto& [name, q] : known) {
    if (word != name) continue;
    if (q->value > 0) return q->value;
    if (word == "stream") return chip.launch.value;
    return error(
        fmt::format("{} has no launch.{}", chip.profile, word),
        fmt::format("give the time itself: --launch 5us, or --set 'apis.cuda.launch.{}=5 us'",
                    word));
  }
  std::string spaced = word;  // 5us is 5 us
  const size_t unit = spaced.find_first_not_of("0123456789.");
  if (unit != std::string::npos && unit > 0 && spaced[unit] != ' ') spaced.insert(unit, " ");
  const Result<Quantity> time = parse_quantity(spaced, Dimension::seconds);
  if (!time || !(time->v >= 0))
    return error("--launch: '" + word + "' is no time", "eager, stream, graph, or a time: 5us");
  return time->v;
}

std::string type_of(const ir::Graph& g) {
  return g.inputs.empty()
             ? "f32"
             : std::string(ir::name_of(g.tensors[static_cast<size_t>(g.inputs[0])].dtype));
}

void add_to_total(const model::Estimate& e, model::Estimate& total) {
  total.seconds += e.seconds;
  total.low += e.low;
  total.high += e.high;
  total.flops += e.flops;
  for (const model::Term& t : e.terms) {
    const auto same = std::find_if(total.terms.begin(), total.terms.end(),
                                   [&](const model::Term& o) { return o.name == t.name; });
    if (same == total.terms.end())
      total.terms.push_back({t.name, t.seconds, ""});
    else
      same->seconds += t.seconds;
  }
}

// The total of the operators.
void finish(Software software, GraphEstimate& g) {
  g.software = software;
  double largest = -1;
  for (const OperatorEstimate& o : g.operators) {
    add_to_total(o.estimate, g.total);
    if (o.estimate.seconds > largest) {
      largest = o.estimate.seconds;
      g.total.bound = o.estimate.bound;
    }
  }
}

}  // namespace

struct OperatorEstimator::State {
  hwdesc::Target target;
  compiler::Catalogue catalogue;
  model::Machine chip;
  compiler::LibraryOptions library;
  Software software = Software::library;

  Result<GraphEstimate> by_library(const ir::Graph& g,
                                   const compiler::LibraryOptions& options) const {
    Result<std::vector<compiler::LibraryStep>> steps =
        compiler::library_steps(g, catalogue, chip, options);
    if (!steps) return steps.diags();
    GraphEstimate out;
    out.why_not_printable = "a library's kernel is priced only";
    for (compiler::LibraryStep& s : *steps)
      out.operators.push_back({s.operation.label, std::string(ir::name_of(s.operation.type)),
                               s.entry, std::string(compiler::kind_of(s.operation)),
                               std::move(s.estimate), std::move(s.lost), ""});
    return out;
  }

  Result<GraphEstimate> by_assay(ir::Graph g) const {
    for (const int t : g.inputs) {
      const ir::DType type = g.tensors[static_cast<size_t>(t)].dtype;
      if (type == ir::DType::f64)
        return error(fmt::format("kernels compute f32, f16, bf16, f8e4m3, f8e5m2 and i8, not {}",
                                 ir::name_of(type)),
                     "--software library prices what a vendor's library would run");
    }
    if (const Diags faults = compiler::sum_in_i32(g); !faults.empty()) return faults;
    CompileOptions options;
    options.api = target.api.name;
    options.schedule = compiler::Schedule::off;  // times of operators add up
    Result<compiler::Compiled> compiled = choose_programs(g, target, options);
    if (!compiled) return compiled.diags();
    auto plan = std::make_shared<ir::Plan>(std::move(compiled->plan));
    GraphEstimate out = of_plan(std::move(plan), compiled->estimates, type_of(g));
    for (size_t i = 0; i < out.operators.size(); ++i)
      out.operators[i].lost = std::move(compiled->lost[i]);
    return out;
  }

  GraphEstimate of_plan(std::shared_ptr<const ir::Plan> plan,
                        const std::vector<model::Estimate>& estimates,
                        const std::string& type) const {
    GraphEstimate out;
    out.why_not_printable = why_no_kernels(target);
    for (size_t i = 0; i < estimates.size(); ++i) {
      const ir::Step& step = plan->steps[i];
      const ir::Program& p = plan->programs[static_cast<size_t>(step.program)];
      out.operators.push_back({step.label, type, p.name, "", estimates[i], {}, mapping_of(p)});
    }
    out.plan = std::move(plan);
    return out;
  }
};

OperatorEstimator::OperatorEstimator(std::unique_ptr<State> state) : state_(std::move(state)) {}
OperatorEstimator::OperatorEstimator(OperatorEstimator&&) noexcept = default;
OperatorEstimator& OperatorEstimator::operator=(OperatorEstimator&&) noexcept = default;
OperatorEstimator::~OperatorEstimator() = default;

Result<LibraryInputs> library_inputs(const hwdesc::Profile& profile, const hwdesc::Target& target,
                                     const EstimateOptions& options) {
  Result<compiler::Catalogue> catalogue = load_catalogue();
  if (!catalogue) return catalogue.diags();
  Result<model::Machine> chip =
      model::prepare(target, {options.scaled, options.factor}, described(profile));
  if (!chip) return chip.diags();
  const Result<double> launch = launch_of(*chip, options.launch.value_or("stream"));
  if (!launch) return launch.diags();
  return LibraryInputs{std::move(*catalogue), std::move(*chip), *launch,
                       options.warm.value_or(false) ? model::Caches::warm : model::Caches::cold};
}

Result<OperatorEstimator> OperatorEstimator::open(const hwdesc::Profile& profile,
                                                  const EstimateOptions& options) {
  auto state = std::make_unique<State>();
  Result<hwdesc::Target> target = target_of(profile, options.api);
  if (!target) return target.diags();
  state->target = std::move(*target);
  state->software =
      options.software.value_or(state->target.dialect.known ? Software::assay : Software::library);
  if (state->software == Software::assay && (options.launch || options.warm))
    return error(
        fmt::format("--{} is of a library's kernels", options.launch ? "launch" : "caches"),
        "assay's own programs run as their plan says; --software library");
  if (state->software == Software::assay && !options.factors.empty())
    return error("factors correct a library's kernels",
                 "assay's own programs: `assay simulate --calibration`; or --software library");
  Result<LibraryInputs> inputs = library_inputs(profile, state->target, options);
  if (!inputs) return inputs.diags();
  Result<compiler::Residuals> residuals = load_residuals();
  if (!residuals) return residuals.diags();
  state->library.residuals = std::move(*residuals);
  state->library.launch = inputs->launch;
  state->library.caches = inputs->caches;
  for (const compiler::KindFactors& f : options.factors)
    state->library.calibrated.push_back({f, compiler::scaled(inputs->chip, f.factors)});
  state->catalogue = std::move(inputs->catalogue);
  state->chip = std::move(inputs->chip);
  return OperatorEstimator(std::move(state));
}

double OperatorEstimator::peak_flops(const std::string& type) const {
  const auto wanted = ir::parse_dtype(type);
  double rate = 0;
  for (const model::TypeRate& t : state_->chip.types)
    if (t.type == wanted) rate = std::max(rate, t.multiply_adds.value);
  for (const model::MatrixRate& r : state_->chip.instructions)
    if (r.instruction.a.number == wanted && !r.instruction.a.tf32)
      rate = std::max(rate, r.multiply_adds.value);
  return 2 * rate * state_->chip.units;
}

double OperatorEstimator::bandwidth() const {
  const model::Level& far = state_->chip.levels.back();
  return far.read.value * far.instances;
}

Result<GraphEstimate> OperatorEstimator::estimate(const ir::Graph& graph) const {
  Result<GraphEstimate> out = state_->software == Software::library
                                  ? state_->by_library(graph, state_->library)
                                  : state_->by_assay(graph);
  if (out) finish(state_->software, *out);
  return out;
}

Result<GraphEstimate> OperatorEstimator::estimate_as(const ir::Graph& graph,
                                                     const GraphEstimate& earlier) const {
  if (earlier.plan != nullptr) {
    const simulator::PlanEstimate e = simulator::simulate(*earlier.plan, state_->chip);
    GraphEstimate out = state_->of_plan(earlier.plan, e.steps, type_of(graph));
    finish(Software::assay, out);
    return out;
  }
  compiler::LibraryOptions options = state_->library;
  for (const OperatorEstimate& o : earlier.operators) options.entries.push_back(o.entry);
  Result<GraphEstimate> out = state_->by_library(graph, options);
  if (out) finish(Software::library, *out);
  return out;
}

Result<GraphEstimate> OperatorEstimator::estimate_typed(ir::Graph graph,
                                                        const std::string& type) const {
  if (type.empty() || type == "f32") return estimate(graph);
  const Diags diags = compiler::give_type(graph, type);
  if (!diags.empty()) return diags;
  return estimate(graph);
}

Result<GraphEstimate> OperatorEstimator::estimate(const std::string& op,
                                                  const std::string& type) const {
  const Result<ir::Graph> graph = graph_of(op, type);
  if (!graph) return graph.diags();
  return estimate(*graph);
}

Result<ir::Graph> OperatorEstimator::graph_of(const std::string& op, const std::string& type) {
  const bool typed = type.empty() || op.find("type=") != std::string::npos;
  return compiler::parse_operator(typed ? op : op + " type=" + type);
}

}  // namespace assay::toolkit
