#include "compiler/schedule/ways.h"

namespace assay::compiler {

namespace {

// Why groups do not stay on units. They can where each unit has a queue of its own, or where one
// kernel runs all steps and its groups are on the chip at once.
std::string why_no_queues(const hwdesc::Target& target, const model::Machine& m, Schedule how) {
  const hwdesc::Api& api = target.api;
  const std::string field = "apis." + api.name;
  if (api.coresident_groups != hwdesc::Fact::yes)
    return field + ".coresident_groups is not true: groups of one step may wait for those of " +
           "another that never begin";
  if (m.simt && m.resident_barriers.empty())
    return field + ".coresident_barrier is not known: what a barrier takes inside one launch";
  if (how == Schedule::automatic && target.dialect.known && !target.dialect.schedules)
    return "kernels of " + target.dialect.name +
           " run one step at a time if not told otherwise; `--schedule always` tells what side by "
           "side would take";
  return "";
}

// Why steps are not launched together.
std::string why_no_phases(const hwdesc::Target& target, const model::Machine& m) {
  const std::string field = "apis." + target.api.name;
  if (!m.simt) return "each unit has a queue of its own";
  if (m.merges || m.beside_launch.value > 0) return "";
  return field + ".launch.beside is not known: what one more launch takes without a barrier before";
}

}  // namespace

Ways ways_of(const hwdesc::Target& target, const model::Machine& m, Schedule how) {
  return {why_no_queues(target, m, how), why_no_phases(target, m)};
}

}  // namespace assay::compiler
