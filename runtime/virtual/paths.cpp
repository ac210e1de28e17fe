#include "runtime/virtual/paths.h"

#include <algorithm>

#include "runtime/virtual/defaults.h"

namespace assay::runtime::simulated {

Paths::Paths(const Chip& chip, const Effects& effects) : chip_(chip), effects_(effects) {
  for (const Path& p : chip.paths) {
    PathState w{&p, {}};
    for (const Level& l : p.own) w.levels.push_back({&l, {}, {}, 0, 0});
    states_.push_back(std::move(w));
  }
  invalidate();
  begin(chip.clock);
}

void Paths::invalidate() {
  const int ports = chip_.units * chip_.partitions;
  for (PathState& w : states_)
    for (CacheState& o : w.levels) {
      const Level& l = *o.level;
      const auto count = static_cast<size_t>((ports + l.ports - 1) / l.ports);
      o.caches.assign(count, Cache({std::max<int64_t>(1, static_cast<int64_t>(l.capacity) / l.line),
                                    l.ways, false, effects_.hash, effects_.replacement}));
      o.servers.resize(count);
    }
}

void Paths::begin(double hz) {
  for (PathState& w : states_)
    for (CacheState& o : w.levels) {
      o.latency = o.level->latency.at(hz);
      o.per_byte = 1 / o.level->read.at(hz);
      for (Server& s : o.servers) s.restart(std::max(32.0, 8 * o.per_byte * o.level->line));
    }
}

int Paths::number_of(ir::Space space) const {
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].path->space == space && !states_[i].levels.empty()) return static_cast<int>(i);
  return -1;
}

double Paths::access(int path, Hierarchy& memory, int port, int64_t address, int bytes, double at) {
  PathState& w = states_[static_cast<size_t>(path)];
  size_t found = 0;
  for (; found < w.levels.size(); ++found) {
    CacheState& o = w.levels[found];
    if (o.caches[static_cast<size_t>(port / o.level->ports)].find(address / o.level->line, 1) ==
        Cache::Found::sectors)
      break;
  }
  // The first cache is busy with a line for at least line_ticks, hit or miss.
  CacheState& first = w.levels.front();
  const double begins = first.servers[static_cast<size_t>(port / first.level->ports)].reserve(
      at, std::max(w.path->line_ticks, bytes * first.per_byte));
  double arrives = begins + first.latency;
  if (found == w.levels.size()) {
    const int line = w.levels.back().level->line;
    const int64_t from = address / line * line;
    const int step = std::min(line, chip_.levels[w.path->joins].line);
    const double asked =
        begins + (w.path->space == ir::Space::image ? defaults::kSampler * first.latency : 0);
    for (int64_t part = from; part < from + line; part += step)
      arrives = std::max(arrives,
                         memory.access(port, part, step, AccessKind::read, asked, w.path->joins));
  } else if (found > 0) {
    CacheState& o = w.levels[found];
    const int line = w.levels[found - 1].level->line;
    arrives = std::max(arrives, o.servers[static_cast<size_t>(port / o.level->ports)].reserve(
                                    begins, line * o.per_byte) +
                                    o.latency);
  }
  for (size_t k = found; k-- > 0;) {
    CacheState& o = w.levels[k];
    o.caches[static_cast<size_t>(port / o.level->ports)].insert_new(address / o.level->line, 1);
  }
  return arrives;
}

int64_t Paths::place(int path, int64_t texel, int64_t row) const {
  const Path& p = *states_[static_cast<size_t>(path)].path;
  const int64_t x = texel % row, y = texel / row, width = std::min<int64_t>(p.block_width, row),
                height = p.block_height;
  return (y / height * (row / width) + x / width) * (width * height) + y % height * width +
         x % width;
}

}  // namespace assay::runtime::simulated
