#include "compiler/search/step_costs.h"

#include <cmath>
#include <utility>

#include "compiler/search/storage.h"

namespace assay::compiler {

namespace {

constexpr int kPasses = 2;  // of a plan, after which caches are nearly as they stay

size_t at(int i) { return static_cast<size_t>(i); }

}  // namespace

StepCosts::StepCosts(const TileGraphs& graphs, const Programs& programs,
                     const model::Machine& machine)
    : parts_(graphs.parts), programs_(programs), machine_(machine), ranges_(ranges_of(graphs)) {}

void StepCosts::find_caches() {
  before_.resize(parts_.size());
  simulator::CacheState state;
  for (int pass = 0; pass < kPasses; ++pass) {
    traffic_.clear();
    for (int i = 0; i < static_cast<int>(parts_.size()); ++i) {
      before_[at(i)] = state;
      model::add_levels(traffic_, run(i, state).levels);
    }
  }
}

model::Estimate StepCosts::run(int part, simulator::CacheState& state) const {
  const ir::Program& p = programs_.chosen[at(part)];
  const std::vector<simulator::Range> where = where_of(parts_[at(part)].chain.tensors);
  model::Estimate e =
      simulator::estimate(p, machine_, state, where, nullptr, simulator::TermDetail::none);
  state = simulator::after(p, machine_, std::move(state), where);
  simulator::pass_time(state, e.seconds);
  return e;
}

Cost StepCosts::alone(int part) const {
  simulator::CacheState state = before_[at(part)];
  return cost_of(run(part, state));
}

Cost StepCosts::together(const ir::Program& p, int first, const std::vector<int>& tensors) const {
  return cost_of(simulator::estimate(p, machine_, before_[at(first)], where_of(tensors), nullptr,
                                     simulator::TermDetail::none));
}

// Of cores, the middle of the interval in which measured times lie: programs that move much through
// memory that they share with co-tenants are more often slower than their estimate than others.
Cost StepCosts::cost_of(const model::Estimate& e) const {
  Cost out{machine_.simt ? e.seconds : std::sqrt(e.low * e.high), 0};
  for (const model::LevelUse& u : e.levels)
    if (u.shared) out.shared_bytes += u.read_bytes + u.written_bytes;
  return out;
}

std::vector<simulator::Range> StepCosts::where_of(const std::vector<int>& tensors) const {
  std::vector<simulator::Range> out;
  for (const int t : tensors) out.push_back(t < 0 ? simulator::Range{} : ranges_[at(t)]);
  return out;
}

}  // namespace assay::compiler
