#include "compiler/schedule/programs.h"

#include <algorithm>
#include <set>
#include <string>

#include "simulator/beside.h"

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

}  // namespace

Offered offered(const ir::Plan& plan, const model::Machine& m, const OtherPrograms& others) {
  Offered out{plan, {}, {}};
  std::vector<std::vector<int>> of(plan.programs.size());
  for (size_t p = 0; p < plan.programs.size(); ++p) {
    of[p].push_back(static_cast<int>(p));
    if (!others) continue;
    for (ir::Program& other : others(plan.programs[p])) {
      const auto id = static_cast<int>(out.plan.programs.size());
      other.name = plan.programs[p].name + "_" + std::to_string(id);
      of[p].push_back(id);
      out.plan.programs.push_back(std::move(other));
    }
  }
  for (const ir::Step& s : plan.steps) out.steps.push_back(of[at(s.program)]);
  for (const ir::Program& p : out.plan.programs)
    out.needs.push_back(m.simt ? simulator::needs_of(p, m) : model::GroupNeeds{});
  return out;
}

std::vector<std::vector<int>> fitting(const Offered& o, const model::Machine& m, int resident) {
  if (resident == 0) return o.steps;
  std::set<double> threads;  // of a group: it decides how many registers each may have
  for (const model::GroupNeeds& n : o.needs) threads.insert(n.threads);
  std::vector<std::vector<int>> best;
  size_t most = 0;
  for (const double t : threads) {
    std::vector<bool> fits;
    for (model::GroupNeeds n : o.needs) {
      const bool few = n.threads <= t;
      n.threads = t;
      fits.push_back(few && simulator::residents(n, m) >= resident);
    }
    std::vector<std::vector<int>> steps = o.steps;
    size_t kept = 0;
    for (std::vector<int>& of : steps) {
      std::erase_if(of, [&](int p) { return !fits[at(p)]; });
      kept += of.size();
    }
    if (kept <= most || std::ranges::any_of(steps, &std::vector<int>::empty)) continue;
    most = kept;
    best = std::move(steps);
  }
  return best;
}

std::vector<int> residents_of(const Offered& o, const model::Machine& m) {
  if (!m.simt) return {0};
  int most = 0;
  while (!fitting(o, m, most + 1).empty()) ++most;
  std::vector<int> out;
  for (int k = most; k > 0; k /= 2) out.push_back(k);
  return out;
}

void take_programs(ir::Plan& plan, std::span<const int> programs) {
  std::vector<int> now(plan.programs.size(), -1);
  for (const int p : programs) now[at(p)] = 0;
  std::vector<ir::Program> kept;
  for (size_t p = 0; p < now.size(); ++p)
    if (now[p] == 0) {
      now[p] = static_cast<int>(kept.size());
      kept.push_back(std::move(plan.programs[p]));
    }
  plan.programs = std::move(kept);
  for (size_t s = 0; s < plan.steps.size(); ++s) plan.steps[s].program = now[at(programs[s])];
}

}  // namespace assay::compiler
