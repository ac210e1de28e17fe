#include "compiler/plan_builder.h"

#include "compiler/search/storage.h"
#include "ir/label.h"

namespace assay::compiler {

PlanBuilder::PlanBuilder(const TileGraphs& graphs, int units) : graphs_(graphs) {
  const LaidOut& laid = graphs.laid;
  plan_.name = laid.graph.name;
  plan_.units = units;
  for (int t : laid.graph.inputs) tensor_id(t, laid.layouts[static_cast<size_t>(t)]);
  for (int t : laid.graph.outputs) tensor_id(t, laid.layouts[static_cast<size_t>(t)]);
}

void PlanBuilder::add_step(const Chosen& chosen) {
  ir::Step step;
  step.name = chosen.name;
  step.label = chosen.label;
  step.program = program_id(chosen.program);
  bool parts = false;
  for (int t : ir::arguments_of(chosen.program)) {
    const int id = chosen.tensors[static_cast<size_t>(t)];
    step.arguments.push_back(tensor_id(id, chosen.program.layouts[static_cast<size_t>(t)]));
    const Stored& stored = graphs_.storage[static_cast<size_t>(id)];
    step.begins.push_back(stored.begin);
    parts =
        parts || stored.elements != graphs_.storage[static_cast<size_t>(stored.tensor)].elements;
  }
  if (!parts) step.begins.clear();
  plan_.steps.push_back(std::move(step));
}

int PlanBuilder::program_id(const ir::Program& program) {
  const std::string key = ir::hash_of(program);
  const auto [it, fresh] = programs_.emplace(key, static_cast<int>(plan_.programs.size()));
  if (fresh) {
    plan_.programs.push_back(program);
    plan_.programs.back().name += "_" + std::to_string(it->second);
  }
  return it->second;
}

// Tensors that share storage are one tensor of the plan, in the shape of the one that owns it. Only
// constants lie as their programs want them. What programs read as fewer dimensions is the same
// bytes.
int PlanBuilder::tensor_id(int t, const ir::Layout& wanted) {
  const LaidOut& laid = graphs_.laid;
  const int owner = graphs_.storage[static_cast<size_t>(t)].tensor;
  const bool own = owner == t;
  t = owner;
  const ir::Tensor& source = laid.graph.tensors[static_cast<size_t>(t)];
  const ir::Layout& layout =
      own && source.constant >= 0 ? wanted : laid.layouts[static_cast<size_t>(t)];
  const std::pair<int, std::string> key{t, ir::print(layout)};
  const auto [it, fresh] = tensors_.emplace(key, static_cast<int>(plan_.tensors.size()));
  if (!fresh) return it->second;
  plan_.tensors.push_back(plan_tensor(laid, t, layout));
  constants_.push_back(source.constant >= 0
                           ? laid.graph.constants[static_cast<size_t>(source.constant)]
                           : ir::Constant{});
  return it->second;
}

}  // namespace assay::compiler
