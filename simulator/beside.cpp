#include "simulator/beside.h"

#include <algorithm>

#include "model/price.h"
#include "simulator/estimate.h"

namespace assay::simulator {

std::vector<size_t> shared_memories(const model::Machine& m) {
  std::vector<size_t> out;
  for (size_t l = 1; l < m.levels.size(); ++l)
    if (m.levels[l].shared && !m.levels[l].is_scratchpad && m.levels[l].read.value > 0)
      out.push_back(l);
  return out;
}

double part_taken(const model::Estimate& e, const model::Level& memory) {
  double seconds = 0;
  for (const model::LevelUse& u : e.levels)
    if (u.boundary.ends_with("<-" + memory.name))
      seconds += (u.read_bytes / memory.read.value +
                  u.written_bytes / (memory.write.value > 0 ? memory.write : memory.read).value) /
                 memory.instances;
  return e.seconds > 0 ? std::min(1.0, seconds / e.seconds) : 0;
}

model::Estimate beside_others(model::Estimate e, double seconds) {
  if (e.seconds <= 0) return e;
  const double scale = seconds / e.seconds;
  e.low *= scale;
  e.high *= scale;
  e.efficiency /= std::max(scale, 1e-9);
  if (seconds > e.seconds * 1.001) {
    e.terms.push_back({"beside others", seconds - e.seconds, "memories that run at once share"});
    if (e.tree.seconds > 0)
      e.tree = model::join("estimate", model::Part::Joins::sum,
                           {std::move(e.tree), model::leaf("beside others", seconds - e.seconds,
                                                           "memories that run at once share", {})});
  }
  e.seconds = seconds;
  return e;
}

model::GroupNeeds needs_of(const ir::Program& p, const model::Machine& m) {
  return estimate(p, m, {}, separate_ranges(p), nullptr, TermDetail::none).needs;
}

model::GroupNeeds larger(const model::GroupNeeds& a, const model::GroupNeeds& b) {
  return {std::max(a.threads, b.threads), std::max(a.registers_per_thread, b.registers_per_thread),
          std::max(a.scratch_bytes, b.scratch_bytes)};
}

int residents(const model::GroupNeeds& needs, const model::Machine& m) {
  model::LaunchWork together;
  together.threads = needs.threads;
  together.registers_per_thread = needs.registers_per_thread;
  together.scratch_bytes = needs.scratch_bytes;
  return static_cast<int>(model::groups_at_once(together, m));
}

int most_resident(const ir::Plan& plan, const model::Machine& m, model::GroupNeeds* needs) {
  if (!m.simt) return 0;
  model::GroupNeeds together;
  for (const ir::Program& p : plan.programs) together = larger(together, needs_of(p, m));
  if (needs != nullptr) *needs = together;
  return residents(together, m);
}

}  // namespace assay::simulator
