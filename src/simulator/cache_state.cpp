// What the caches hold between programs: tensors in order of last use.
#include <algorithm>
#include <cmath>

#include "lower/nest.h"
#include "model/retention.h"
#include "model/streams.h"
#include "simulator/residency.h"

namespace assay::simulator {

namespace {

double storage_bytes(const ir::Program& p, int tensor) {
  const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(tensor)];
  return static_cast<double>(ir::physical_elements(p.layouts[static_cast<size_t>(tensor)], t.shape)) *
         ir::bytes_of(t.dtype);
}

// The dimension of a tensor that moves with the loop whose trips are dealt out to the units; -1: none.
int split_of(const ir::Program& p, int tensor, const lower::Nest& nest) {
  if (nest.loops.empty() || !nest.loops[0].group) return -1;
  const int axis = nest.loops[0].axis;
  for (const ir::Node& n : p.graph.nodes) {
    if (n.output == tensor) return axis;  // a node's first axes are its output's dimensions
    for (const ir::Read& r : n.reads)
      for (size_t d = 0; r.tensor == tensor && d < r.index.size(); ++d)
        if (ir::depends_on(r.index[d], axis)) return static_cast<int>(d);
  }
  return -1;
}

double units_of(const ir::Program& p, const model::Machine& m) {
  return std::max(1.0, std::min(m.units, static_cast<double>(ir::group_count(p))));
}

// Bytes that a unit's part of each tensor takes in the largest cache of its own: rows that crowd a few sets take more.
std::vector<double> own_bytes(const ir::Program& p, const model::Machine& m) {
  double sets = 1, line = m.levels[0].line;
  for (const model::Level& l : m.levels)
    if (!l.shared && !l.on_chip_explicit) sets = std::max(sets, l.sets);
  std::vector<double> out(p.graph.tensors.size(), 0);
  const model::Streams streams = model::streams_of(p);
  for (const model::Stream& s : streams.streams)
    if (s.staging < 0) out[static_cast<size_t>(s.tensor)] = model::part_of_unit(p, streams, s, units_of(p, m)).occupied(line, sets);
  return out;
}

bool is_written(const ir::Program& p, int tensor) {
  return std::any_of(p.graph.nodes.begin(), p.graph.nodes.end(), [&](const ir::Node& n) { return n.output == tensor; });
}

// The part of what a unit now needs that it touched itself before.
double own_part(const CacheState::Entry& e, int split, double units) {
  return e.split < 0 || e.split == split ? 1 : 1 / units;
}

}  // namespace

model::Residency residency_of(const ir::Program& p, const model::Machine& m, const CacheState& before,
                              std::span<const int> keys) {
  model::Residency out(p.graph.tensors.size(), std::vector<double>(m.levels.size(), 0));
  const lower::Nest nest = lower::nest_of(p);
  const double units = units_of(p, m);
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (t >= keys.size() || keys[t] < 0) continue;
    double newer = 0, newer_mine = 0;
    for (const CacheState::Entry& e : before.recent) {
      if (e.key != keys[t]) {
        newer += e.bytes;
        newer_mine += e.mine;
        continue;
      }
      const double own = own_part(e, split_of(p, static_cast<int>(t), nest), units);
      for (size_t l = 0; l < m.levels.size(); ++l) {
        const model::Level& level = m.levels[l];
        out[t][l] = level.shared || level.instances <= 1
                        ? held(level, (newer + e.bytes) / level.instances, level.end)
                        : own * held(level, newer_mine + e.mine, level.end);
      }
      break;
    }
  }
  return out;
}

double handed_over(const ir::Program& p, const model::Machine& m, const CacheState& before, std::span<const int> keys) {
  if (m.handed.value <= 0) return 0;
  const model::Level* own_cache = nullptr;  // the largest of a unit's own
  for (const model::Level& l : m.levels)
    if (!l.shared && !l.on_chip_explicit) own_cache = &l;
  if (own_cache == nullptr) return 0;
  double out = 0;
  const lower::Nest nest = lower::nest_of(p);
  const double units = units_of(p, m);
  const std::vector<double> needed = own_bytes(p, m);
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (t >= keys.size() || keys[t] < 0) continue;
    double newer_mine = 0;
    for (const CacheState::Entry& e : before.recent) {
      if (e.key == keys[t]) {
        const double others = 1 - own_part(e, split_of(p, static_cast<int>(t), nest), units);
        if (e.written && !is_written(p, static_cast<int>(t))) out += needed[t] * others * held(*own_cache, newer_mine + e.mine, own_cache->end);
        break;
      }
      newer_mine += e.mine;
    }
  }
  return out;
}

CacheState after(const ir::Program& p, const model::Machine& m, CacheState before, std::span<const int> keys) {
  double limit = 0;
  for (const model::Level& l : m.levels)
    if (!l.last) limit = std::max(limit, std::max(2 * l.capacity.value, l.end) * l.instances);
  const lower::Nest nest = lower::nest_of(p);
  const std::vector<double> own = own_bytes(p, m);
  for (int t : ir::arguments_of(p)) {
    const auto i = static_cast<size_t>(t);
    if (i >= keys.size() || keys[i] < 0) continue;
    std::erase_if(before.recent, [&](const CacheState::Entry& e) { return e.key == keys[i]; });
    const double bytes = storage_bytes(p, t);
    const int split = split_of(p, t, nest);
    before.recent.insert(before.recent.begin(),
                         CacheState::Entry{keys[i], bytes, std::max(own[i], split < 0 ? bytes : bytes / units_of(p, m)), split, is_written(p, t)});
  }
  double sum = 0;
  size_t keep = 0;
  while (keep < before.recent.size() && sum <= limit) sum += before.recent[keep++].bytes;
  before.recent.resize(keep);
  return before;
}

}  // namespace assay::simulator
