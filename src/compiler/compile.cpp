#include "compiler/compile.h"

#include <algorithm>
#include <map>

#include "compiler/construct.h"
#include "compiler/place.h"
#include "compiler/problems.h"
#include "compiler/schedule.h"
#include "compiler/storage.h"

namespace assay::compiler {

namespace {

// The plan as it grows: programs by text, tensors by (graph tensor, layout).
class PlanBuilder {
 public:
  PlanBuilder(const LaidOut& laid, const std::vector<int>& storage, const model::Machine& m) : laid_(laid), storage_(storage) {
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
      step.arguments.push_back(tensor(chain.tensors[static_cast<size_t>(t)], program.layouts[static_cast<size_t>(t)]));
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
  int tensor(int t, const ir::Layout& wanted) {
    const int owner = storage_[static_cast<size_t>(t)];
    const bool own = owner == t;
    t = owner;
    const ir::Layout& layout = own ? wanted : laid_.layouts[static_cast<size_t>(t)];
    const ir::Tensor& source = laid_.graph.tensors[static_cast<size_t>(t)];
    const std::pair<int, std::string> key{t, ir::print(layout)};
    const auto [it, fresh] = tensors_.emplace(key, static_cast<int>(out_.plan.tensors.size()));
    if (!fresh) return it->second;
    out_.plan.tensors.push_back(plan_tensor(laid_, t, layout));
    out_.constants.push_back(source.constant >= 0 ? laid_.graph.constants[static_cast<size_t>(source.constant)] : ir::Constant{});
    return it->second;
  }

  const LaidOut& laid_;
  const std::vector<int>& storage_;
  Compiled out_;
  std::map<std::string, int> programs_;
  std::map<std::pair<int, std::string>, int> tensors_;
};

// Equal problems have equal answers: the key under which construction is remembered.
std::string key_of(const Problem& p) {
  std::string key = ir::print_graph(p.graph);
  for (size_t t = 0; t < p.layouts.size(); ++t) key += ir::print(p.layouts[t]) + (p.packable[t] ? "c\n" : "\n");
  return key;
}

}  // namespace

Result<Compiled> compile(const ir::Graph& graph, const hwdesc::Target& target, const Options& options) {
  const Result<model::Machine> machine = model::prepare(target);
  if (!machine.ok()) return machine.diags();
  const Problems problems = problems_of(graph, *machine);
  const std::vector<TileGraph>& parts = problems.tile_graphs;

  const std::vector<simulator::Range> ranges = ranges_of(problems);
  PlanBuilder builder(problems.laid, problems.storage, *machine);
  std::map<std::string, Constructed> known;
  simulator::CacheState caches;
  int64_t evaluated = 0, pruned = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (options.cancel != nullptr && *options.cancel) return error("compilation was interrupted");
    const auto& [name, chain, problem] = parts[i];
    if (options.progress) options.progress(static_cast<int>(i), static_cast<int>(parts.size()), name);
    const std::string key = key_of(problem);
    std::vector<simulator::Range> where;  // the chain's tensors
    for (int t : chain.tensors) where.push_back(ranges[static_cast<size_t>(t)]);
    auto found = known.find(key);
    if (found == known.end()) {
      Result<Constructed> made = construct(problem, target, *machine, caches, where, options.keep);
      if (!made.ok()) {
        Diags diags = made.diags();
        diags.insert(diags.begin(), error("no program can compute node " + name + " (" + problem.graph.nodes[0].op + ")"));
        return diags;
      }
      evaluated += made->evaluated;
      pruned += made->pruned;
      found = known.emplace(key, std::move(*made)).first;
    }
    const ir::Program& program = found->second.best.front().program;
    builder.add_step(chain, name, program);
    caches = simulator::after(program, *machine, std::move(caches), where);
  }
  Compiled out = builder.finish();
  simulator::PlanEstimate estimate = simulator::simulate(out.plan, *machine);
  out.estimates = std::move(estimate.steps);
  out.total = std::move(estimate.total);
  out.evaluated = evaluated;
  out.pruned = pruned;
  return out;
}

}  // namespace assay::compiler
