#include "tests/probe/virtual/complete.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/virtual/chip.h"
#include "support/diag.h"

namespace assay::probe::testing {
namespace {

using namespace hwdesc;
namespace simulated = runtime::simulated;

constexpr const char* kCore = "core";

template <class Q>
void fill(Value<Q>& v, Q with) {
  if (v.known()) return;
  v.value = std::move(with);
}

void fill(Value<Latency>& v, const simulated::Span& s) {
  fill(v, s.ticks > 0 ? Latency{s.ticks, kCore} : Latency{s.seconds, ""});
}

void fill(Value<Bandwidth>& v, const simulated::Speed& s) {
  fill(v, s.per_tick > 0 ? Bandwidth{s.per_tick, kCore} : Bandwidth{s.per_second, ""});
}

void fill(MemoryLevel& l, const simulated::Level& from, double hz) {
  fill(l.capacity, Bytes{from.capacity});
  fill(l.line, Bytes{double(from.line)});
  fill(l.latency, from.latency);
  fill(l.bandwidth.read, from.read);
  if (from.per_unit.at(hz) < from.read.at(hz)) fill(l.bandwidth.per_unit, from.per_unit);
  if (l.write == WritePolicy::unknown)
    l.write = from.allocates ? WritePolicy::allocate : WritePolicy::through;
  fill(l.bandwidth.write, from.write);
  const double read = from.read.at(hz), write = from.write.at(hz);
  const double overlapped = std::max(1 / read, 1 / write),
               turns = (1 / read + 1 / write) * from.copy_share;
  fill(l.bandwidth.copy, Bandwidth{2 / std::max(overlapped, turns) * hz, ""});
  const double both = (2 / read + 1 / write) * from.copy_share +
                      (1 / read + 1 / write) * from.turnaround;  // a turnaround per pair
  l.bandwidth.triad = {};  // a simulated memory has the rates of reads, writes and copies
  if (from.memory)
    fill(l.bandwidth.triad, Bandwidth{3 / std::max({2 / read, 1 / write, both}) * hz, ""});
}

// By stores: a victim cache holds what others evicted, and they do not evict what they do not
// allocate.
bool passed_by(const std::vector<simulated::Level>& levels, const simulated::Level& l) {
  const auto gives = [&](const simulated::Level& before) {
    return &before < &l && before.allocates && !before.victim;
  };
  return l.victim && std::none_of(levels.begin(), levels.end(), gives);
}

}  // namespace

Profile completed(Profile profile, const std::string& effects) {
  const auto parsed =
      simulated::parse_effects("schema: assay/virtual/1\nprofile: it\n" + effects, "effects");
  if (!parsed) throw std::runtime_error(render(parsed.diags()));
  const auto chip = simulated::make_chip(profile, *parsed);
  if (!chip) throw std::runtime_error(render(chip.diags()));
  if (profile.clocks.empty()) profile.clocks.push_back({kCore, {}, {}});
  fill(profile.clocks[0].max, Hertz{chip->clock});
  std::vector<MemoryLevel> kept;
  for (MemoryLevel& l : profile.memory) {
    const auto level = std::find_if(chip->levels.begin(), chip->levels.end(),
                                    [&](const simulated::Level& s) { return s.name == l.name; });
    if (level != chip->levels.end()) {
      if (passed_by(chip->levels, *level)) l.write = WritePolicy::through;
      fill(l, *level, chip->clock);
      // Cores without prefetchers wait for three streams' lines: their rate is not known.
      if (!chip->threads && !parsed->prefetch) l.bandwidth.triad = {};
    } else if (!chip->scratch.exists || l.managed != Managed::explicit_ || l.per == "device" ||
               l.per == "host")
      continue;
    else if (l.backed_by.empty())
      fill(l.latency, chip->scratch.latency);  // of another memory it is that of the caches
    kept.push_back(std::move(l));
  }
  profile.memory = std::move(kept);
  const auto cost = [&](const char* op, ir::ValueOp at) {
    const double latency = chip->modes.front().ops[static_cast<size_t>(at)].latency;
    const auto same = [&](const ComputeOp& c) {
      return c.op == op && c.dtype == "f32" && c.mode.empty();
    };
    const auto there = std::find_if(profile.compute.begin(), profile.compute.end(), same);
    if (there != profile.compute.end()) return fill(there->latency, Latency{latency, kCore});
    ComputeOp c;
    c.op = op;
    c.dtype = "f32";
    fill(c.latency, Latency{latency, kCore});
    profile.compute.push_back(std::move(c));
  };
  cost("fma", ir::ValueOp::fma);
  cost("add", ir::ValueOp::add);
  return profile;
}

}  // namespace assay::probe::testing
