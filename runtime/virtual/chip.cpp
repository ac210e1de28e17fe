#include "runtime/virtual/chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/virtual/chip_reader.h"
#include "support/edit_distance.h"

namespace assay::runtime::simulated {
namespace {

using namespace hwdesc;

constexpr const char* kCore = "core";

void read_launches(const Profile& p, Chip& to) {
  to.launch = defaults::kLaunch;
  to.eager = defaults::kEager * to.launch;
  to.group_start = defaults::kGroupStart;
  if (p.apis.empty()) return;
  const Api& api = p.apis.front();
  to.api = api.name;
  to.dialect = api.dialect;
  to.forms = api.forms;
  to.merged_loads = static_cast<int>(value_or(api.merged_loads, 1));
  to.launch = value_or(api.launch.stream, value_or(api.launch.eager, to.launch));
  to.graph = value_or(api.launch.graph, 0);
  to.eager = value_or(api.launch.eager, defaults::kEager * to.launch);
  to.group_start = value_or(api.group_start, to.group_start);
  if (api.group_barrier.known()) to.group_barriers.emplace_back(0, api.group_barrier.value->v);
  for (const WideBarrier& b : api.wide_barrier)
    if (b.threads.known() && b.time.known())
      to.group_barriers.emplace_back(b.threads.value->v, b.time.value->v);
  std::sort(to.group_barriers.begin(), to.group_barriers.end());
  to.wakeup_skew = value_or(api.wakeup_skew, 0);
  to.barrier = value_or(api.device_barrier, to.launch);
  to.beside_launch = value_or(api.launch.beside, 0);
  for (const BarrierPoint& b : api.coresident_barrier)
    if (b.groups.known() && b.time.known())
      to.resident_barriers.emplace_back(b.groups.value->v, b.time.value->v);
  std::sort(to.resident_barriers.begin(), to.resident_barriers.end());
  to.queues = api.coresident_groups == Fact::yes &&
              (to.threads ? !to.resident_barriers.empty() : api.device_barrier.known());
  to.in_sequence = api.device_barrier.known() && api.coresident_groups == Fact::yes;
  to.group_memory = value_or(api.limits.group_memory, 0);
  to.allocation = value_or(api.limits.allocation, 0);
  to.group_threads = static_cast<int>(value_or(api.limits.threads_per_group, to.group_threads));
}

Diags read_effects(const Effects& effects, Chip& to) {
  if (effects.victim.empty()) return {};
  std::vector<std::string> names;
  for (size_t i = 1; i < to.levels.size(); ++i) {
    if (to.levels[i].memory) continue;
    if (to.levels[i].name == effects.victim) {
      to.levels[i].victim = true;
      return {};
    }
    names.push_back(to.levels[i].name);
  }
  return {error(fmt::format("'{}' can not be a victim cache of {}", effects.victim, to.name),
                names.empty() ? "it has one cache at most"
                              : fmt::format("one of: {}", fmt::join(names, ", ")))};
}

}  // namespace

double ProfileReader::hertz(const std::string& clock) const {
  for (const Clock& c : p.clocks) {
    if (c.name != clock) continue;
    if (c.max.known()) return c.max.value->v;
    for (const auto& [load, v] : c.sustained)
      if (v.known()) return v.value->v;
  }
  return defaults::kClock;
}

Span ProfileReader::span(const Value<Latency>& v, Span otherwise) const {
  if (!v.known()) return otherwise;
  if (v.value->clock == kCore) return {v.value->v, 0};
  return {0, v.value->clock.empty() ? v.value->v : v.value->v / hertz(v.value->clock)};
}

Speed ProfileReader::speed(const Value<Bandwidth>& v, Speed otherwise) const {
  if (!v.known() || v.value->v <= 0) return otherwise;
  if (v.value->clock == kCore) return {v.value->v, 0};
  return {0, v.value->clock.empty() ? v.value->v : v.value->v * hertz(v.value->clock)};
}

double ProfileReader::rate(const Value<Rate>& v, double otherwise) const {
  if (!v.known() || v.value->v <= 0) return otherwise;
  if (v.value->clock == kCore) return v.value->v;
  return v.value->v * (v.value->clock.empty() ? 1 : hertz(v.value->clock)) / hertz(kCore);
}

int ProfileReader::levels_of(const std::string& per) const {
  double n = 1;
  if (per == "device" || per == "host") return 1;
  for (const TopologyLevel& t : p.topology) {
    n *= std::max(1.0, value_or(t.count, 1));
    if (t.name == per) break;
  }
  return static_cast<int>(n);
}

const Path* find_path(const Chip& chip, ir::Space space) {
  const auto at = std::find_if(chip.paths.begin(), chip.paths.end(),
                               [&](const Path& p) { return p.space == space; });
  return at == chip.paths.end() ? nullptr : &*at;
}

// Linear between two numbers that the profile knows, constant beyond the first and the last.
double barrier_of(const Chip& chip, double groups) {
  if (!chip.threads) return chip.barrier;
  const auto& points = chip.resident_barriers;
  const auto above =
      std::find_if(points.begin(), points.end(), [&](const auto& p) { return groups <= p.first; });
  if (above == points.begin()) return above->second;
  const auto below = above - 1;
  if (above == points.end()) return below->second;
  return std::lerp(below->second, above->second,
                   (groups - below->first) / (above->first - below->first));
}

Chip beside(Chip chip, const Neighbour& neighbour) {
  for (Level& l : chip.levels)
    if (!l.memory) {
      const double set = static_cast<double>(l.line) * l.ways;
      l.capacity = std::max(1.0, std::round(l.capacity * neighbour.caches / set)) * set;
    }
  for (Mode& m : chip.modes) {
    m.issue *= neighbour.slots;
    for (double& ticks : m.instruction) ticks /= neighbour.slots;
  }
  for (MatrixCost& c : chip.matrix) c.rate *= neighbour.slots;
  return chip;
}

const Mode& mode_for(const Chip& chip, int lanes) {
  for (const Mode& m : chip.modes)
    if (m.width >= lanes) return m;
  return chip.modes.back();
}

Result<Chip> make_chip(const Profile& profile, const Effects& effects) {
  Chip chip;
  chip.name = profile.name;
  const ProfileReader r{profile, profile.execution.lanes.style == LaneStyle::simt};
  chip.threads = r.simt;
  chip.clock = r.hertz(kCore);
  chip.units = std::max(1, r.levels_of("unit"));
  read_execution(r, chip);
  read_launches(profile, chip);
  read_memory(r, chip);
  read_atomics(r, chip);
  if (chip.levels.empty())
    return error(fmt::format("{} has no memory to run from", profile.name),
                 "give its profile a memory");
  if (Diags diags = read_effects(effects, chip); has_error(diags)) return diags;
  return chip;
}

double share_of(const Level& l, int active, int units, double hz) {
  if (l.unit_wide) return 1;
  const double limit = l.read.at(hz), one = std::min(limit, l.per_unit.at(hz));
  if (!l.shape.empty()) {
    const double part = double(active) / units;
    std::pair<double, double> before{0, 0};
    for (const auto& point : l.shape) {
      if (part <= point.first)
        return before.second + (point.second - before.second) * (part - before.first) /
                                   std::max(1e-9, point.first - before.first);
      before = point;
    }
    return before.second;
  }
  if (l.sharpness > 0 && one < limit)
    return std::pow(std::pow(limit / (active * one), l.sharpness) + 1, -1 / l.sharpness);
  return std::min(1.0, active * one / limit);
}

}  // namespace assay::runtime::simulated
