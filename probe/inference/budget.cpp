#include "probe/inference/budget.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "hwdesc/walk.h"

namespace assay::probe {
namespace {

// Parts of the paths of values that an experiment tells.
struct Told {
  const char *experiment, *parts;
};
constexpr auto kTold = std::to_array<Told>({
    {"clock", "clocks.core.max"},
    {"sustained", "sustained"},
    {"line", ".line"},
    {"chase", "capacity knee"},
    {"latency", ".latency"},
    {"units", "topology"},
    {"fma", "pipes.fma execution.registers"},
    {"operations", "compute"},
    {"types", "compute"},
    {"matrix", "instructions"},
    {"residency", "resident granule coresident_groups"},
    {"registers", "per_thread_max"},
    {"access", "pipes.load pipes.store"},
    {"mixes", "execution.issue"},
    {"cyclic_scan", "cyclic_scan"},
    {"bandwidth", "bandwidth"},
    {"far", "bandwidth"},
    {"coherence", "dirty_remote upgrade"},
    {"false_sharing", "false_sharing"},
    {"retention", "retention co_tenant_eviction"},
    {"loaded_latency", "loaded_latency"},
    {"tlb", "tlb"},
    {"ways", "ways page_stride_lines set_conflict"},
    {"outstanding", "outstanding"},
    {"write_policy", ".write"},
    {"transfer", "transaction"},
    {"scratch", "banks"},
    {"group_memory", "bandwidth latency"},
    {"atomics", "atomic"},
    {"host", "map host"},
    {"branches", "divergence group_barrier wide_barrier"},
    {"barrier", "coresident_barrier"},
    {"vectorisation", "slp_lanes merged_loads unrolled"},
    {"read_modify_write", "update"},
    {"code", "execution.code"},
    {"cold", "launch.cold launch.uncached"},
    {"power", "power"},
    {"launch", "launch group_start device_barrier wakeup_skew"},
});

std::set<std::string> parts_of(const std::vector<std::string>& experiments) {
  std::set<std::string> out;
  for (const Told& t : kTold) {
    if (std::find(experiments.begin(), experiments.end(), t.experiment) == experiments.end())
      continue;
    std::istringstream words(t.parts);
    for (std::string word; words >> word;) out.insert(word);
  }
  return out;
}

// Those that inference speaks of, and those of parts that need no other key. An empty part that
// says to what it belongs (`per`) would be ill-formed.
bool may_be_noted(const hwdesc::Path& path, const std::string& note) {
  if (!note.empty()) return true;
  const bool in_entry = path.size() > 2 && (path[0] == "memory" || path[0] == "apis");
  return in_entry && path[2] != "outstanding" && path[2] != "banks" && path[2] != "wide_barrier";
}

template <class M>
concept HasNote = requires(M& m) {
  m.value;
  m.note;
};

}  // namespace

std::vector<std::string> left_out(const Observations& all) {
  std::set<std::string> out;
  for (const Ending& e : all.endings)
    if (e.outcome == Outcome::out_of_budget && !all.finished(e.experiment))
      out.insert(e.experiment);
  return {out.begin(), out.end()};
}

void note_budget(const Observations& all, hwdesc::Profile& to) {
  const std::set<std::string> parts = parts_of(left_out(all));
  if (parts.empty()) return;
  hwdesc::walk(to, [&](const hwdesc::Path& path, auto& leaf) {
    if constexpr (HasNote<decltype(leaf)>) {
      if (leaf.known() || !may_be_noted(path, leaf.note)) return;
      const std::string at = "." + hwdesc::dotted(path);
      if (std::any_of(parts.begin(), parts.end(),
                      [&](const std::string& p) { return at.find(p) != std::string::npos; }))
        leaf.note = kBudget;
    }
  });
}

}  // namespace assay::probe
