// Caches, memories and translation of a chip.
#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/virtual/chip_reader.h"

namespace assay::runtime::simulated {
namespace {

using namespace hwdesc;

// Plain loads do not access caches of other paths, nor the host's memory.
bool is_reached(const MemoryLevel& m) { return m.path.empty() && m.per != "host"; }

// Explicitly managed memory of a unit: group memory.
bool is_scratch(const ProfileReader& r, const MemoryLevel& m) {
  return m.managed == Managed::explicit_ && m.per != "device" &&
         r.levels_of(m.per) >= r.levels_of("unit");
}

class LevelReader {
 public:
  LevelReader(const ProfileReader& r, const Chip& chip, const MemoryLevel& m)
      : r_(r), chip_(chip), m_(m) {}

  Level read(const Level* before, bool memory) {
    Level l;
    l.name = m_.name;
    l.memory = memory;
    const int ports = chip_.units * chip_.partitions;
    l.ports = std::max(1, ports / std::max(1, r_.levels_of(m_.per)));
    l.unit_wide = l.ports <= chip_.partitions;
    l.capacity = value_or(m_.capacity, 0);
    read_lines(l, before);
    read_latency(l, before);
    read_bandwidth(l, before);
    l.outstanding = static_cast<int>(value_or(m_.outstanding.lines, 0));
    if (before != nullptr && chip_.levels.size() == 1 && !r_.simt && l.outstanding == 0)
      l.outstanding = defaults::kOutstanding;
    if (before == nullptr) l.outstanding = 0;  // no cache in front of it that could miss
    // First caches of SIMT units write through.
    l.allocates = m_.write == WritePolicy::unknown ? !(r_.simt && before == nullptr)
                                                   : m_.write == WritePolicy::allocate;
    l.around = m_.write == WritePolicy::around;
    l.victim = m_.role == CacheRole::victim && before != nullptr && !memory;
    return l;
  }

 private:
  void read_lines(Level& l, const Level* before) const {
    const double otherwise = before != nullptr ? before->line : defaults::kLine;
    l.line = std::max(4, static_cast<int>(value_or(m_.line, otherwise)));
    l.sector =
        std::max(4, static_cast<int>(value_or(
                        m_.transaction, l.memory && before != nullptr ? before->sector : l.line)));
    l.line = static_cast<int>(std::exp2(std::round(std::log2(l.line))));
    l.sector = std::min(l.line, static_cast<int>(std::exp2(std::round(std::log2(l.sector)))));
    l.sector = std::max(l.sector, l.line / 8);
    const int ways = l.capacity > defaults::kLargeCache ? defaults::kWaysOfLarge : defaults::kWays;
    l.ways = std::max(1, static_cast<int>(value_or(m_.ways, ways)));
  }

  void read_latency(Level& l, const Level* before) const {
    const size_t kind = r_.simt ? 1 : 0;
    Span otherwise{defaults::kNearLatency[kind], 0};
    if (before != nullptr)
      otherwise = {before->latency.ticks * defaults::kNextLatency,
                   before->latency.seconds * defaults::kNextLatency};
    if (l.memory)
      otherwise = {
          0, std::max(defaults::kMemoryLatency[kind], otherwise.at(chip_.clock) / chip_.clock)};
    l.latency = r_.span(m_.latency, otherwise);
  }

  void read_bandwidth(Level& l, const Level* before) const {
    const MemoryBandwidth& b = m_.bandwidth;
    const double users = std::max(1.0, double(l.ports) / chip_.partitions);
    const Speed otherwise = l.memory && before != nullptr && before->ports == l.ports
                                ? before->read
                                : Speed{l.line * defaults::kLinesPerTick * users, 0};
    l.read = r_.speed(b.read, r_.speed(b.copy, otherwise));
    l.write = r_.speed(b.write, l.read);
    l.per_unit = r_.speed(b.per_unit, l.read);
    l.sharpness = value_or(b.sharpness, 0);
    for (const ShapePoint& s : b.shape)
      if (s.units.known() && s.reaches.known())
        l.shape.emplace_back(s.units.value->v, s.reaches.value->v);
    std::sort(l.shape.begin(), l.shape.end());
    // Memory is half-duplex: reads and writes do not overlap. In caches they do.
    l.copy_share = l.memory ? 1 : 0;
    if (b.copy.known() && b.copy.value->v > 0) {
      const double hz = chip_.clock, one = 1 / l.read.at(hz), other = 1 / l.write.at(hz);
      const double share = 2 / r_.speed(b.copy, {1, 0}).at(hz) / (one + other);
      l.copy_share = std::clamp(share, 0.0, 1.0);
      l.turnaround = std::max(0.0, share - 1);  // bus turnaround
    }
  }

  const ProfileReader& r_;
  const Chip& chip_;
  const MemoryLevel& m_;
};

Scratch scratch_of(const ProfileReader& r, const MemoryLevel& m, double line) {
  Scratch s;
  s.exists = true;
  s.capacity = value_or(m.capacity, 0);
  s.in_memory = !m.backed_by.empty();
  s.latency = r.span(m.latency, {defaults::kScratchLatency, 0});
  s.banks = static_cast<int>(value_or(m.banks.count, 0));
  s.bank_bytes = static_cast<int>(value_or(m.banks.width, 4));
  const Speed banks{double(s.banks) * s.bank_bytes, 0};
  s.read =
      r.speed(m.bandwidth.read, s.banks > 0 ? banks : Speed{line * defaults::kLinesPerTick, 0});
  s.write = r.speed(m.bandwidth.write, s.read);
  return s;
}

// nullopt: a path of unknown name and form.
std::optional<ir::Space> space_of(const AccessPath& p) {
  if (p.name == "constant") return ir::Space::constant;
  return p.name == "texture" || p.form.starts_with("image") ? std::optional(ir::Space::image)
                                                            : std::nullopt;
}

// A path without caches of its own starts at the same level as loads.
Path path_of(const ProfileReader& r, const Chip& chip, const AccessPath& a, ir::Space space) {
  Path p;
  p.space = space;
  for (const MemoryLevel& m : r.p.memory) {
    if (m.path != a.name || m.managed != Managed::automatic || !m.capacity.known()) continue;
    const Level* before = p.own.empty() ? nullptr : &p.own.back();
    Level l = LevelReader(r, chip, m).read(before, false);
    if (before == nullptr && !m.line.known())
      l.line = l.sector = std::min(l.line, chip.levels.front().line);
    p.own.push_back(std::move(l));
  }
  for (size_t i = chip.levels.size(); i-- > 0;)
    if (std::find(a.through.begin(), a.through.end(), chip.levels[i].name) != a.through.end())
      p.joins = i;
  const double wave = chip.modes.empty() ? 1 : chip.modes.front().width,
               latency = p.own.empty() ? 0 : p.own.front().latency.at(chip.clock);
  p.line_ticks = space == ir::Space::constant ? 1 : 0;
  if (a.divergent.known() && wave > 1)
    p.line_ticks = std::max(0.0, a.divergent.value->v - 1) * latency / (wave - 1);
  p.bytes = value_or(a.max_bytes, space == ir::Space::constant ? defaults::kConstantBytes : 0);
  p.max_width = value_or(a.max_width, defaults::kImageExtent);
  p.max_height = value_or(a.max_height, defaults::kImageExtent);
  const auto power = [](double v) {
    return 1 << static_cast<int>(std::lround(std::log2(std::max(1.0, v))));
  };
  p.block_width = power(value_or(a.block.width, 1));
  p.block_height = power(value_or(a.block.height, 1));
  p.border = a.border.gives;
  return p;
}

// The memory is the last explicitly managed level, or else the last level.
size_t place_of_memory(const Profile& p, const ProfileReader& r) {
  size_t found = p.memory.size();
  for (size_t i = 0; i < p.memory.size(); ++i)
    if (is_reached(p.memory[i]) && p.memory[i].managed == Managed::explicit_ &&
        !is_scratch(r, p.memory[i]))
      found = i;
  for (size_t i = p.memory.size(); found == p.memory.size() && i-- > 0;)
    if (is_reached(p.memory[i])) return i;
  return found;
}

}  // namespace

void read_memory(const ProfileReader& r, Chip& to) {
  const auto& all = r.p.memory;
  const size_t memory = place_of_memory(r.p, r);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!is_reached(all[i])) continue;
    if (i != memory && all[i].managed == Managed::explicit_) {
      if (is_scratch(r, all[i]) && !to.scratch.exists)
        to.scratch = scratch_of(r, all[i], defaults::kLine);
      continue;
    }
    if (i != memory && (!all[i].capacity.known() || i > memory)) continue;
    const Level* before = to.levels.empty() ? nullptr : &to.levels.back();
    Level l = LevelReader(r, to, all[i]).read(before, i == memory);
    to.levels.push_back(std::move(l));
  }
  if (to.levels.empty()) return;
  for (const AccessPath& a : r.p.paths)
    if (const auto space = space_of(a)) to.paths.push_back(path_of(r, to, a, *space));
  to.memory_bytes = value_or(all[memory].capacity, defaults::kMemoryBytes);
  for (const TlbLevel& t : r.p.tlb)
    if (t.entries.known())
      to.translation.push_back(
          {value_or(t.page, 4096), static_cast<int>(t.entries.value->v), r.span(t.miss, {})});
}

}  // namespace assay::runtime::simulated
