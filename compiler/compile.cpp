#include "compiler/compile.h"

#include <algorithm>
#include <map>

#include "compiler/passes/place.h"
#include "compiler/passes/schedule.h"
#include "compiler/search/construct.h"
#include "compiler/search/storage.h"
#include "compiler/search/tile_graphs.h"

namespace assay::compiler {

namespace {

// The plan as it grows: programs by text, tensors by (graph tensor, layout).
class PlanBuilder {
 public:
  PlanBuilder(const LaidOut& laid, const std::vector<int>& storage, const model::Machine& m)
      : laid_(laid), storage_(storage) {
    out_.plan.name = laid.graph.name;
    out_.plan.units = static_cast<int>(m.units);
    for (int t : laid.graph.inputs) tensor(t, laid.layouts[static_cast<size_t>(t)]);
    for (int t : laid.graph.outputs) tensor(t, laid.layouts[static_cast<size_t>(t)]);
  }

  void add_step(const ChainGraph& chain, const std::string& name, const ir::Program& program) {
    ir::Step step;
    step.name = name;
    step.program = program_id(program);
    for (int t : ir::arguments_of(program))
      step.arguments.push_back(
          tensor(chain.tensors[static_cast<size_t>(t)], program.layouts[static_cast<size_t>(t)]));
    step.queues = schedule(ir::group_count(program), out_.plan.units);
    out_.plan.steps.push_back(std::move(step));
  }

  Compiled finish() {
    place(out_.plan);
    return std::move(out_);
  }

 private:
  int program_id(const ir::Program& program) {
    const std::string key = ir::hash_of(program);
    const auto [it, fresh] = programs_.emplace(key, static_cast<int>(out_.plan.programs.size()));
    if (fresh) {
      out_.plan.programs.push_back(program);
      out_.plan.programs.back().name += "_" + std::to_string(it->second);
    }
    return it->second;
  }

  // Tensors that share storage are one tensor of the plan, in the shape of the one it belongs to.
  // Constants alone lie as their programs want them; what programs take for fewer dimensions is the
  // same bytes.
  int tensor(int t, const ir::Layout& wanted) {
    const int owner = storage_[static_cast<size_t>(t)];
    const bool own = owner == t;
    t = owner;
    const ir::Tensor& source = laid_.graph.tensors[static_cast<size_t>(t)];
    const ir::Layout& layout =
        own && source.constant >= 0 ? wanted : laid_.layouts[static_cast<size_t>(t)];
    const std::pair<int, std::string> key{t, ir::print(layout)};
    const auto [it, fresh] = tensors_.emplace(key, static_cast<int>(out_.plan.tensors.size()));
    if (!fresh) return it->second;
    out_.plan.tensors.push_back(plan_tensor(laid_, t, layout));
    out_.constants.push_back(source.constant >= 0
                                 ? laid_.graph.constants[static_cast<size_t>(source.constant)]
                                 : ir::Constant{});
    return it->second;
  }

  const LaidOut& laid_;
  const std::vector<int>& storage_;
  Compiled out_;
  std::map<std::string, int> programs_;
  std::map<std::pair<int, std::string>, int> tensors_;
};

// A program for every part, each for the caches as the one before leaves them.
class Chooser {  // invariant: refers to the parts of one compilation, which outlive it
 public:
  Chooser(const Problems& problems, const hwdesc::Target& target, const model::Machine& machine,
          const Options& options)
      : parts_(problems.tile_graphs), target_(target), machine_(machine), options_(options) {
    const std::vector<simulator::Range> ranges = ranges_of(problems);
    for (const TileGraph& part : parts_) {
      std::vector<simulator::Range>& where = where_.emplace_back();  // the chain's tensors
      for (int t : part.chain.tensors) where.push_back(ranges[static_cast<size_t>(t)]);
    }
  }

  // A plan runs again and again: where its operands stay, the first step finds what the last one
  // left.
  Diags run() {
    if (Diags diags = choose_all(true); !diags.empty()) return diags;
    if (!parts_.empty() && begins_warm()) return choose_all(false);
    return {};
  }

  const std::vector<ir::Program>& programs() const { return programs_; }
  int64_t evaluated() const { return evaluated_; }
  int64_t pruned() const { return pruned_; }

 private:
  Diags choose_all(bool first) {
    std::map<std::string, Constructed> known;
    programs_.clear();
    evaluated_ = pruned_ = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (options_.cancel != nullptr && *options_.cancel)
        return {error("compilation was interrupted")};
      const auto& [name, chain, problem] = parts_[i];
      if (first && options_.progress)
        options_.progress(static_cast<int>(i), static_cast<int>(parts_.size()), name);
      const std::string key = key_of(problem);
      auto found = known.find(key);
      if (found == known.end()) {
        Result<Constructed> made =
            construct(problem, target_, machine_, caches_, where_[i], options_.keep);
        if (!made.ok()) {
          Diags diags = made.diags();
          diags.insert(diags.begin(), error("no program can compute node " + name + " (" +
                                            problem.graph.nodes[0].op + ")"));
          return diags;
        }
        evaluated_ += made->evaluated;
        pruned_ += made->pruned;
        found = known.emplace(key, std::move(*made)).first;
      }
      const auto& [program, estimate] = found->second.best.front();
      programs_.push_back(program);
      caches_ = simulator::after(programs_.back(), machine_, std::move(caches_), where_[i]);
      simulator::pass_time(caches_, estimate.seconds);
    }
    return {};
  }

  bool begins_warm() const {
    const auto seconds = [&](const simulator::CacheState& before) {
      return simulator::estimate(programs_[0], machine_, before, where_[0]).seconds;
    };
    return seconds(caches_) < kWarm * seconds({});
  }

  static constexpr double kWarm = 0.99;  // of the time with nothing in the caches

  const std::vector<TileGraph>& parts_;
  const hwdesc::Target& target_;
  const model::Machine& machine_;
  const Options& options_;
  std::vector<std::vector<simulator::Range>> where_;
  std::vector<ir::Program> programs_;
  simulator::CacheState caches_;
  int64_t evaluated_ = 0, pruned_ = 0;
};

}  // namespace

Result<Compiled> compile(const ir::Graph& graph, const hwdesc::Target& target,
                         const Options& options) {
  const Result<model::Machine> machine = model::prepare(target);
  if (!machine.ok()) return machine.diags();
  const Problems problems = problems_of(graph, target, *machine);
  Chooser chooser(problems, target, *machine, options);
  if (Diags diags = chooser.run(); !diags.empty()) return diags;
  PlanBuilder builder(problems.laid, problems.storage, *machine);
  for (size_t i = 0; i < problems.tile_graphs.size(); ++i) {
    const auto& [name, chain, problem] = problems.tile_graphs[i];
    builder.add_step(chain, name, chooser.programs()[i]);
  }
  Compiled out = builder.finish();
  simulator::PlanEstimate estimate = simulator::simulate(out.plan, *machine);
  out.estimates = std::move(estimate.steps);
  out.total = std::move(estimate.total);
  out.evaluated = chooser.evaluated();
  out.pruned = chooser.pruned();
  return out;
}

}  // namespace assay::compiler
