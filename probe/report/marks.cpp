#include "probe/report/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "probe/inference/cyclic_scan.h"
#include "probe/inference/infer.h"
#include "probe/inference/loaded_latency.h"
#include "probe/inference/power_mean.h"
#include "probe/inference/stats.h"

namespace assay::probe {
namespace {

using hwdesc::Bytes;
using hwdesc::MemoryLevel;
using hwdesc::Value;

void add_band(const std::string& name, const Value<Bytes>& from, const Value<Bytes>& to,
              Chart& chart) {
  if (from.known() && to.known()) chart.marks.push_back({name, from.value->v, to.value->v});
}

void add_line(const std::string& name, double at, Chart& chart) {
  if (at > 0) chart.marks.push_back({name, at, at});
}

bool is_cache(const MemoryLevel& m) { return m.managed == hwdesc::Managed::automatic; }

}  // namespace

void mark_levels(const Source& source, Chart& to) {
  Series plateaus{"plateaus found", {}, {}, {}, true};
  for (const Plateau& p : source.known.levels.plateaus)
    for (const Estimate& e : {Estimate{p.first, p.seconds, p.seconds, p.seconds, 0},
                              Estimate{p.last, p.seconds, p.seconds, p.seconds, 0},
                              Estimate{p.last, std::nan(""), 0, 0, 0}})
      plateaus.line.push_back(e);
  if (!plateaus.line.empty()) to.series.push_back(std::move(plateaus));
  for (const MemoryLevel& m : source.profile.memory) {
    if (!is_cache(m)) continue;
    add_band("knee of " + m.name, m.knee.from, m.knee.to, to);
    if (m.capacity.known())
      add_line(m.name + " " + human(m.capacity.value->v, Kind::bytes), m.capacity.value->v, to);
  }
}

void mark_line(const Source& source, Chart& to) {
  for (const MemoryLevel& m : source.profile.memory)
    if (is_cache(m) && m.line.known())
      return add_line("line " + human(m.line.value->v, Kind::bytes), m.line.value->v, to);
}

void mark_tlb(const Source& source, Chart& to) {
  for (const hwdesc::TlbLevel& t : source.profile.tlb)
    if (t.entries.known())
      add_line(fmt::format("level {}: {:.0f} entries", t.depth, t.entries.value->v),
               t.entries.value->v, to);
}

void mark_rows(const Source& source, Chart& to) {
  for (const hwdesc::TlbLevel& t : source.profile.tlb)
    if (t.depth == 2 && t.entries.known() && t.entries.low && t.entries.high)
      to.marks.push_back({"second buffer", t.entries.low->v, t.entries.high->v});
}

void mark_cyclic_scan(const Source& source, Chart& to) {
  const Sweep sweep = sweep_of(source.all);
  for (const MemoryLevel& m : source.profile.memory) {
    if (!is_cache(m)) continue;
    // A shared one holds the parts of all.
    const double units = m.per == "unit" || sweep.cross_die ? 1 : sweep.units;
    const auto& s = m.cyclic_scan;
    if (s.from.known() && s.to.known())
      to.marks.push_back({m.name + " streamed", s.from.value->v / units, s.to.value->v / units});
    if (s.middle.known()) add_line(m.name + " half", s.middle.value->v / units, to);
  }
}

void mark_loaded(const Source& source, Chart& to) {
  to.series.clear();
  for (const double level : values_of(select(source.all, "loaded_latency", "both"), "level")) {
    Series s{level_name(static_cast<size_t>(level), source.known.levels.plateaus.size()),
             {},
             {},
             {},
             true};
    for (const LoadedPoint& p : loaded_curve(source.all, level))
      s.line.push_back({p.bandwidth, p.latency, p.low, p.high, p.n});
    if (!s.line.empty()) to.series.push_back(std::move(s));
  }
}

void mark_power_mean(const Source& source, Chart& to) {
  for (const MemoryLevel& m : source.profile.memory) {
    const auto& b = m.bandwidth;
    if (is_cache(m) || !b.per_unit.known() || !b.sharpness.known() || !b.read.known() ||
        !b.read.value->clock.empty() || !b.per_unit.value->clock.empty())
      continue;
    Series law{"law of " + m.name + ", reading", {}, {}, {}, true};
    double most = 1;
    for (const Series& s : to.series)
      for (const Estimate& e : s.line) most = std::max(most, e.x);
    for (int i = 0; i <= 40; ++i) {
      const double n = std::pow(most, i / 40.0);
      const double v =
          power_mean(n, {b.per_unit.value->v, b.read.value->v, b.sharpness.value->v, 0, true});
      law.line.push_back({n, v, v, v, 0});
    }
    to.series.push_back(std::move(law));
  }
}

}  // namespace assay::probe
