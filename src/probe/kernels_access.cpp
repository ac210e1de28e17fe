// Kernels of how memory is accessed: misses side by side.
#include <algorithm>

#include <fmt/format.h>

#include "probe/code.h"
#include "probe/kernels.h"

namespace assay::probe {
namespace {

using ir::DType;

// Chain c of a group: p = state[slot, c]; iterations: p = nodes[p], in turn with the others'; state[slot, c] = p.
ir::Kernel chases(int chains) {
  ir::Kernel k = code::empty(chases_name(chains));
  const int nodes = code::add_buffer(k, "nodes", DType::i64, false);
  const int state = code::add_buffer(k, "state", DType::i64, true), parameters = code::add_parameters(k);
  const ir::Index slot = ir::variable(0, kMostChases);
  std::vector<int> p;
  for (int c = 0; c < chains; ++c) p.push_back(code::add_register(k, fmt::format("p{}", c), DType::i64, 1));
  k.body.push_back(code::declare(p.front(), chains));
  for (int c = 0; c < chains; ++c) k.body.push_back(code::set(p[size_t(c)], code::load(state, slot + c, DType::i64, 1)));
  ir::Block turn;
  for (const int r : p) {
    ir::Value hop = code::apply(ir::ValueOp::indirect, {code::reg(k, r)});
    hop.id = nodes;
    turn.push_back(code::set(r, hop));
  }
  ir::Block body;
  code::repeat(body, chases_turns(chains), turn);
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i");
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(body)));
  for (int c = 0; c < chains; ++c) k.body.push_back(code::store(state, slot + c, code::reg(k, p[size_t(c)])));
  return k;
}

}  // namespace

std::string chases_name(int chains) { return fmt::format("chases_{}", chains); }

int chases_turns(int chains) { return std::max(1, kChaseSteps / chains); }

void add_access_kernels(const KernelShape&, std::vector<ir::Kernel>& to) {
  for (const int chains : kChases) to.push_back(chases(chains));
}

}  // namespace assay::probe
