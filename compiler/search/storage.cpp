#include "compiler/search/storage.h"

#include <algorithm>
#include <map>

#include "compiler/passes/place.h"

namespace assay::compiler {

namespace {

bool contains(const std::vector<int>& v, int x) {
  return std::find(v.begin(), v.end(), x) != v.end();
}

// Tensors of the graph that a chain reads or writes in memory.
std::vector<int> touched(const ChainGraph& chain) {
  std::vector<int> out;
  for (size_t t = 0; t < chain.tensors.size(); ++t) {
    const int local = static_cast<int>(t);
    if (chain.graph.tensors[t].constant >= 0 || contains(chain.graph.inputs, local) ||
        contains(chain.graph.outputs, local))
      out.push_back(chain.tensors[t]);
  }
  return out;
}

// The tensors that own storage, in the order of the plan.
std::vector<int> owners(const TileGraphs& graphs) {
  std::vector<int> out;
  const auto use = [&](int t) {
    const int owner = graphs.storage[static_cast<size_t>(t)].tensor;
    if (!contains(out, owner)) out.push_back(owner);
  };
  for (int t : graphs.laid.graph.inputs) use(t);
  for (int t : graphs.laid.graph.outputs) use(t);
  for (const TileGraph& part : graphs.parts)
    for (int t : touched(part.chain)) use(t);
  return out;
}

}  // namespace

ir::PlanTensor plan_tensor(const LaidOut& laid, int t, const ir::Layout& layout) {
  const ir::Tensor& source = laid.graph.tensors[static_cast<size_t>(t)];
  ir::PlanTensor out;
  out.name = source.name;
  out.dtype = source.dtype;
  out.shape = source.shape;
  out.layout = layout;
  out.kind = source.constant >= 0              ? ir::TensorKind::constant
             : contains(laid.graph.inputs, t)  ? ir::TensorKind::input
             : contains(laid.graph.outputs, t) ? ir::TensorKind::output
                                               : ir::TensorKind::temporary;
  out.cleared = ir::is_padded(layout);
  return out;
}

std::vector<simulator::Range> ranges_of(const TileGraphs& graphs) {
  const std::vector<int> owner = owners(graphs);
  std::map<int, int> id;
  ir::Plan plan;  // without programs: placing looks at tensors and steps
  for (int t : owner) {
    id[t] = static_cast<int>(plan.tensors.size());
    plan.tensors.push_back(
        plan_tensor(graphs.laid, t, graphs.laid.layouts[static_cast<size_t>(t)]));
  }
  for (const TileGraph& part : graphs.parts) {
    ir::Step step;
    for (int t : touched(part.chain))
      step.arguments.push_back(id.at(graphs.storage[static_cast<size_t>(t)].tensor));
    plan.steps.push_back(std::move(step));
  }
  place(plan);
  std::vector<simulator::Range> out(graphs.storage.size());
  for (size_t t = 0; t < out.size(); ++t) {
    const Stored& stored = graphs.storage[t];
    const auto found = id.find(stored.tensor);
    if (found == id.end()) continue;
    const ir::PlanTensor& whole = plan.tensors[static_cast<size_t>(found->second)];
    out[t] = simulator::range_of(plan, whole);
    if (stored == graphs.storage[static_cast<size_t>(stored.tensor)]) continue;
    const int64_t width = ir::bytes_of(whole.dtype);
    out[t].begin += stored.begin * width;
    out[t].end = out[t].begin + stored.elements * width;
  }
  return out;
}

}  // namespace assay::compiler
