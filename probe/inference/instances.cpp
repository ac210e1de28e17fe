#include "probe/inference/instances.h"

#include <fmt/format.h>

#include <cmath>

#include "probe/inference/stats.h"
#include "probe/inference/values.h"
#include "support/number.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kFast = 0.35, kSlow = 0.6;  // of the step to the next level
constexpr const char* kPart = "part";

void divide(Value<Bandwidth>& v, int by) {
  for (std::optional<Bandwidth>* b : {&v.value, &v.low, &v.high})
    if (*b) (*b)->v = rounded_to((*b)->v / by, 4);
}

// The level among `memory` whose knee is that of the curve.
MemoryLevel* level_with(Profile& p, const KneePoint& k) {
  for (MemoryLevel& l : p.memory)
    if (l.managed == Managed::automatic && l.per == "device" && l.knee.from.known() &&
        l.knee.from.value->v <= k.capacity && k.capacity <= l.knee.to.value->v)
      return &l;
  return nullptr;
}

}  // namespace

std::optional<int> instances_of(const Observations& all, const Known& known, size_t level) {
  const std::vector<Observation> blocks =
      select(all, "instances", "chase", {{"level", double(level)}});
  if (blocks.empty() || level + 1 >= known.levels.plateaus.size()) return std::nullopt;
  const double here = known.levels.plateaus[level].seconds,
               step = known.levels.plateaus[level + 1].seconds - here;
  int held = 1;
  for (const double times : values_of(blocks, "times")) {
    const auto s =
        summarize(select(all, "instances", "chase", {{"level", double(level)}, {"times", times}}),
                  Estimator::latency);
    if (!s) return std::nullopt;
    if (s->value > here + kSlow * step) return held;
    if (s->value > here + kFast * step) return std::nullopt;
    held = static_cast<int>(2 * times / kHitsInTwo);
  }
  return std::nullopt;  // all sizes hit: perhaps each unit has one
}

void divide_among_instances(const Observations& all, const Known& known, Profile& to) {
  if (!known.threads || to.topology.size() != 1 || !to.topology[0].count.known()) return;
  TopologyLevel& unit = to.topology[0];
  int parts = 1;
  for (size_t i = 0; i < known.sharing.size(); ++i) {
    if (!known.sharing[i].shared) continue;
    const int n = instances_of(all, known, i).value_or(1);
    MemoryLevel* l = n > 1 ? level_with(to, known.levels.knees[i]) : nullptr;
    if (l == nullptr || std::fmod(unit.count.value->v, n) != 0 || (parts > 1 && n != parts))
      continue;
    parts = n;
    l->per = kPart;
    l->capacity.note += fmt::format("; units chasing side by side find {} of them", n);
    for (Value<Bandwidth>* v : {&l->bandwidth.read, &l->bandwidth.write, &l->bandwidth.copy})
      divide(*v, n);
  }
  if (parts == 1) return;
  for (std::optional<Count>* c : {&unit.count.value, &unit.count.low, &unit.count.high})
    if (*c) (*c)->v /= parts;
  TopologyLevel part;
  part.name = kPart;
  part.count = known_value(Count{double(parts)}, Origin::measured,
                           "units chasing side by side, each in its own bytes: what so many caches "
                           "hold together is as fast as alone");
  to.topology.insert(to.topology.begin(), std::move(part));
}

}  // namespace assay::probe
