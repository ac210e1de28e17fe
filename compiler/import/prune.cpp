#include "compiler/import/prune.h"

#include <algorithm>

namespace assay::import {
namespace {

std::vector<bool> needed_tensors(const ir::Graph& g) {
  std::vector<bool> needed(g.tensors.size(), false);
  for (int id : g.outputs) needed[static_cast<size_t>(id)] = true;
  for (size_t i = g.nodes.size(); i-- > 0;) {
    if (!needed[static_cast<size_t>(g.nodes[i].output)]) continue;
    for (const ir::Read& r : g.nodes[i].reads) needed[static_cast<size_t>(r.tensor)] = true;
  }
  return needed;
}

}  // namespace

std::vector<int> prune(ir::Graph& g) {
  std::vector<bool> needed = needed_tensors(g);
  std::erase_if(g.nodes, [&](const ir::Node& n) { return !needed[static_cast<size_t>(n.output)]; });
  for (int id : g.inputs)
    needed[static_cast<size_t>(id)] = true;  // inputs stay: callers pass them all
  std::vector<int> renamed(g.tensors.size(), -1);
  std::vector<ir::Tensor> tensors;
  std::vector<ir::Constant> constants;
  for (size_t i = 0; i < g.tensors.size(); ++i) {
    if (!needed[i]) continue;
    renamed[i] = static_cast<int>(tensors.size());
    tensors.push_back(std::move(g.tensors[i]));
    if (int& id = tensors.back().constant; id >= 0) {
      constants.push_back(std::move(g.constants[static_cast<size_t>(id)]));
      id = static_cast<int>(constants.size()) - 1;
    }
  }
  const auto follow = [&](int& id) { id = renamed[static_cast<size_t>(id)]; };
  std::for_each(g.inputs.begin(), g.inputs.end(), follow);
  std::for_each(g.outputs.begin(), g.outputs.end(), follow);
  for (ir::Node& n : g.nodes) {
    follow(n.output);
    for (ir::Read& r : n.reads) follow(r.tensor);
  }
  g.tensors = std::move(tensors);
  g.constants = std::move(constants);
  return renamed;
}

}  // namespace assay::import
