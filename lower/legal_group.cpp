#include "lower/legal_group.h"

#include <algorithm>

#include "ir/producers.h"
#include "lower/group_scratch.h"
#include "lower/legal.h"
#include "lower/nest.h"

namespace assay::lower {

namespace {

int64_t waves_of(const ir::Program& p) {
  int64_t n = 1;
  for (const int w : p.workers) n *= w;
  return n;
}

// Tiles that are kept on the chip must fit the memory that their edge names.
void check_passed(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  const auto all = static_cast<double>(place_scratch(p, own_scratch(p)).bytes);
  const auto text = [](double bytes) { return std::to_string(static_cast<int64_t>(bytes)); };
  for (const ir::Producer& r : p.producers) {
    const std::string& name = p.graph.tensors[static_cast<size_t>(ir::passed_tensor(r))].name;
    const int64_t bytes = ir::passed_bytes(p, r);
    const auto level =
        std::find_if(target.profile.memory.begin(), target.profile.memory.end(),
                     [&](const hwdesc::MemoryLevel& l) { return l.name == r.level; });
    if (level == target.profile.memory.end()) {
      std::string names;
      for (const hwdesc::MemoryLevel& l : target.profile.memory)
        names += (names.empty() ? "" : ", ") + l.name;
      out.push_back(error(p.name + ": " + name + " is kept on the chip in '" + r.level +
                              "', which the profile has not",
                          "one of " + names));
    } else if (ir::is_stored(p, ir::passed_tensor(r))) {
      if (hwdesc::is_scratchpad(*level))
        out.push_back(error(
            p.name + ": " + name + " is an output of the step, and " + r.level + " is a scratchpad",
            "a cache, or the memory where tensors lie"));
    } else if (hwdesc::threads_of(target) > 1 && !hwdesc::is_scratchpad(*level)) {
      out.push_back(error(p.name + ": " + name + " is kept on the chip in " + r.level +
                              ", where threads of a group keep tiles in a scratchpad",
                          "a memory that code copies into"));
    } else if (hwdesc::threads_of(target) == 1 && &*level == &target.profile.memory.back()) {
      out.push_back(error(p.name + ": " + name + " is kept on the chip in " + r.level +
                              ", which is the farthest memory",
                          "a cache, or a step of its own"));
    } else if (level->capacity.known() && static_cast<double>(bytes) > level->capacity.value->v) {
      out.push_back(error(p.name + ": a tile of " + name + " has " + std::to_string(bytes) +
                              " B, and " + r.level + " holds " +
                              std::to_string(static_cast<int64_t>(level->capacity.value->v)) + " B",
                          "smaller tiles of a group, or a larger memory"));
    } else if (hwdesc::is_scratchpad(*level) && level->capacity.known() &&
               all > level->capacity.value->v) {
      out.push_back(error(p.name + ": tiles and copies of " + text(all) +
                              " B at one time exceed the " + text(level->capacity.value->v) +
                              " B of " + r.level,
                          "smaller tiles of a group, or a larger memory"));
      return;
    }
  }
  const auto& limit = target.api.limits.group_memory;
  if (limit.known() && all > limit.value->v)
    out.push_back(error(p.name + ": tiles and copies of " + text(all) +
                        " B that are kept on the chip exceed the " + text(limit.value->v) +
                        " B of group memory"));
}

}  // namespace

Diags over_limits_together(const ir::Program& p, const hwdesc::Target& target) {
  Diags out;
  check_passed(p, target, out);
  const std::vector<ir::Member> members = ir::members_of(p);
  for (const ir::Member& m : members) {
    const Diags own = over_limits(m.program, target);
    out.insert(out.end(), own.begin(), own.end());
    if (m.program.pipeline_stages > 1)
      out.push_back(error(m.program.name + ": copies ahead of their step are not generated",
                          "pipeline_stages: 1"));
    if (waves_of(m.program) != waves_of(members.back().program) ||
        m.program.threads.has_value() != members.back().program.threads.has_value())
      out.push_back(error(p.name + ": all programs of a group have the same waves"));
  }
  return out;
}

Diags unpriceable_together(const ir::Program& p, const hwdesc::Target& target) {
  Diags out;
  check_passed(p, target, out);
  for (const ir::Member& m : ir::members_of(p)) {
    const Diags own = unpriceable(m.program, target);
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

}  // namespace assay::lower
