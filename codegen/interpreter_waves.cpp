// Groups, and the concurrent waves of a group.
#include "codegen/interpreter.h"
#include "ir/graph.h"

namespace assay::codegen {

void Interpreter::run_group(int64_t group) {
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    if (kernel.buffers[i].scope == ir::Scope::scratch)
      scratch[i].assign(static_cast<size_t>(kernel.buffers[i].elements), kUnwritten);
  indices[0] = group;
  if (kernel.waves == 1) return run(kernel.body);
  others.assign(static_cast<size_t>(kernel.waves) - 1, {registers, indices});
  for (size_t w = 0; w < others.size(); ++w)
    others[w].indices[static_cast<size_t>(kernel.wave)] = static_cast<int64_t>(w) + 1;
  indices[static_cast<size_t>(kernel.wave)] = 0;
  run_waves(kernel.body);
  catch_up();
}

void Interpreter::step(const Step& s) {
  if (s.block == nullptr) indices[static_cast<size_t>(s.var)] = s.value;
  for (size_t i = s.begin; i < s.end; ++i)
    std::visit([&](const auto& node) { run(node); }, (*s.block)[i].node);
}

void Interpreter::catch_up() {
  for (Wave& w : others) {
    std::swap(registers, w.registers);
    std::swap(indices, w.indices);
    for (const Step& s : pending) step(s);
    std::swap(registers, w.registers);
    std::swap(indices, w.indices);
  }
  pending.clear();
}

bool Interpreter::has_barrier(const ir::Stmt& s) {
  if (const auto known = barriers_found.find(&s); known != barriers_found.end())
    return known->second;
  bool has = std::holds_alternative<ir::Barrier>(s.node);
  if (const auto* loop = std::get_if<ir::For>(&s.node)) has = has_barrier(loop->body);
  if (const auto* branch = std::get_if<ir::If>(&s.node))
    has = has_barrier(branch->then_body) || has_barrier(branch->else_body);
  return barriers_found[&s] = has;
}

// Control flow around a barrier is uniform over the waves, as verify() has checked.
void Interpreter::run_waves(const ir::Block& block) {
  for (size_t i = 0; i < block.size(); ++i) {
    size_t end = i;
    while (end < block.size() && !has_barrier(block[end])) ++end;
    step_ahead({&block, i, end});
    if ((i = end) == block.size()) return;
    if (const auto* branch = std::get_if<ir::If>(&block[i].node)) {
      run_waves(hold(branch->conditions) ? branch->then_body : branch->else_body);
    } else if (const auto* loop = std::get_if<ir::For>(&block[i].node)) {
      const int64_t n = trips(*loop);
      counts.iterations += std::max<int64_t>(0, n) * kernel.waves;
      for (int64_t t = 0; t < n; ++t) {
        step_ahead({nullptr, 0, 0, loop->var, t});
        run_waves(loop->body);
      }
    } else {
      catch_up();
    }
  }
}

}  // namespace assay::codegen
