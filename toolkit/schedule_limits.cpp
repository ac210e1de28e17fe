#include "toolkit/schedule_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/estimate.h"
#include "simulator/range.h"

namespace assay::toolkit {

namespace {

// The steps that need most of a unit, a part each: `48 KiB of scratchpad in STEP`.
std::string largest_needs(const ir::Plan& plan, const model::Machine& machine,
                          const model::GroupNeeds& needs) {
  std::string out;
  const std::pair<double model::GroupNeeds::*, const char*> kinds[] = {
      {&model::GroupNeeds::threads, "threads"},
      {&model::GroupNeeds::registers_per_thread, "registers of a thread"},
      {&model::GroupNeeds::scratch_bytes, "bytes of scratchpad"}};
  for (const auto& [what, name] : kinds)
    for (const ir::Step& s : plan.steps) {
      const ir::Program& p = plan.programs[static_cast<size_t>(s.program)];
      const model::GroupNeeds own =
          simulator::estimate(p, machine, {}, simulator::separate_ranges(p), nullptr,
                              simulator::TermDetail::none)
              .needs;
      if (needs.*what <= 0 || own.*what < needs.*what) continue;
      out += fmt::format("{}{:.0f} {} in {}", out.empty() ? "" : ", ", needs.*what, name,
                         ir::display_name(s));
      break;
    }
  return out;
}

}  // namespace

Diags unschedulable(const ir::Plan& plan, const model::Machine& machine, const std::string& file) {
  const auto refused = [&](const std::string& what, const std::string& hint) -> Diags {
    Diag d = error(what, hint);
    d.file = file;
    return {d};
  };
  if (!plan.phases.empty() && !machine.simt)
    return refused("phases: a core works through a queue of its own, and does not launch steps",
                   "`phases` is of chips whose lanes are threads; `schedule: ...`");
  if (!plan.phases.empty() && !machine.merges && machine.beside_launch.value <= 0)
    return refused("phases: " + machine.profile +
                       " does not say what one more launch takes without a barrier before it",
                   "apis.<name>.launch.beside: 2 us; or a dialect whose kernels can be merged");
  if (plan.schedule.empty()) return {};
  if (plan.units > machine.units)
    return refused(fmt::format("the schedule is for {} units, {} has {:.0f}", plan.units,
                               machine.profile, machine.units),
                   "`--rechoose` chooses a bundle's schedule for this profile");
  if (!machine.simt && plan.resident > 0)
    return refused(
        fmt::format("resident: {} groups on a unit at once, and a core runs one", plan.resident),
        "`resident` is of chips whose lanes are threads");
  if (!machine.simt) return {};
  if (plan.resident == 0)
    return refused("the plan has a schedule and no `resident`: groups that each unit has at once",
                   "resident: 1");
  if (machine.resident_barriers.empty())
    return refused(machine.profile + " does not say what a barrier takes inside one launch",
                   "apis.<name>.coresident_barrier: [{groups: 80, time: 2 us}]");
  model::GroupNeeds needs;
  const int most = simulator::most_resident(plan, machine, &needs);
  if (plan.resident <= most) return {};
  return refused(fmt::format("resident: {} groups on a unit at once, and {} fit there: {}",
                             plan.resident, most, largest_needs(plan, machine, needs)),
                 fmt::format("resident: {}", std::max(most, 1)));
}

}  // namespace assay::toolkit
