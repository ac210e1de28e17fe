#include "runtime/virtual/hierarchy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/virtual/defaults.h"

namespace assay::runtime::simulated {
namespace {

constexpr size_t kStreams = 16;       // of a unit's prefetcher
constexpr int64_t kHostPrefetch = 6;  // lines ahead whose sets the host prefetches
constexpr size_t kPending = 256;      // slots for lines in flight, threads only
constexpr int kConfirmed = 3;         // consecutive lines that make a stream
constexpr int kTranslationWays = 8;

int bits_of(int power) { return static_cast<int>(std::lround(std::log2(power))); }

}  // namespace

Hierarchy::Hierarchy(const Chip& chip, const Effects& effects)
    : chip_(chip),
      prefetch_(effects.prefetch && !chip.threads),
      near_(chip.levels.front().unit_wide),
      line_(chip.levels.front().line),
      memory_(chip.levels.size() - 1) {
  const int ports = chip.units * chip.partitions;
  caches_.resize(chip.levels.size());
  instances_.resize(chip.levels.size());
  of_unit_.resize(chip.levels.size());
  for (size_t k = 0; k < chip.levels.size(); ++k) {
    const Level& l = chip.levels[k];
    const size_t count = static_cast<size_t>((ports + l.ports - 1) / l.ports);
    instances_[k].resize(count);
    if (!l.unit_wide) of_unit_[k].resize(static_cast<size_t>(chip.units));
    if (!l.memory)
      caches_[k].assign(count, Cache({static_cast<int64_t>(l.capacity) / l.line, l.ways,
                                      l.sector < l.line, effects.hash, effects.replacement}));
  }
  ports_.resize(static_cast<size_t>(ports));
  for (Port& p : ports_) {
    for (const Translation& t : chip.translation)
      p.pages.emplace_back(CacheShape{t.entries, std::min(t.entries, kTranslationWays), false,
                                      false, Replacement::lru});
    p.streams.resize(kStreams);
    if (chip.threads) p.pending.resize(kPending);
  }
  in_flight_.resize(static_cast<size_t>(chip.units));
  for (auto& of_unit : in_flight_)
    for (const Level& l : chip.levels)
      of_unit.push_back({std::vector<double>(static_cast<size_t>(l.outstanding), 0.0), 0});
  for (const Level& l : chip.levels) {
    line_bits_.push_back(bits_of(l.line));
    sector_bits_.push_back(bits_of(l.sector));
  }
  if (!chip.translation.empty())
    page_bits_ = bits_of(static_cast<int>(chip.translation.front().page));
  begin(chip.clock, 1);
}

void Hierarchy::begin(double hz, int active_units) {
  hz_ = hz;
  ++launch_;
  latency_.clear();
  miss_.clear();
  for (const Level& l : chip_.levels) latency_.push_back(l.latency.at(hz));
  share_among(active_units);
  for (const Translation& t : chip_.translation) miss_.push_back(t.miss.at(hz));
  restart_servers();
  for (Port& p : ports_) {
    p.far = 0;
    p.moved.assign(memory_, {});
  }
  for (auto& of_unit : in_flight_)
    for (InFlight& w : of_unit) std::fill(w.until.begin(), w.until.end(), 0.0);
}

void Hierarchy::share_among(int active_units) {
  alone_ = active_units == 1;
  costs_.clear();
  for (const Level& l : chip_.levels) {
    const double read = l.read.at(hz_), write = l.write.at(hz_),
                 all = share_of(l, active_units, chip_.units, hz_),
                 alone = share_of(l, 1, chip_.units, hz_);
    Costs c{1 / (read * all), 1 / (write * all), 0, 1 / (read * alone), 1 / (write * alone), 0};
    c.stream = std::max(c.read, c.write / defaults::kNonTemporalStores);
    c.unit_stream = std::max(c.unit_read, c.unit_write / defaults::kNonTemporalStores);
    costs_.push_back(c);
  }
}

// Time slots of a few lines each, so that a window of requests spans few slots.
void Hierarchy::restart_servers() {
  for (size_t k = 0; k < chip_.levels.size(); ++k) {
    const double slot = std::max(32.0, 8 * costs_[k].read * chip_.levels[k].line);
    for (auto* all : {&instances_[k], &of_unit_[k]})
      for (Instance& i : *all) {
        for (Server* s : {&i.read, &i.write, &i.both}) s->restart(slot);
        i.bytes_read = i.bytes_written = 0;
      }
  }
}

void Hierarchy::shift(int unit, double by) {
  for (size_t k = 0; k < chip_.levels.size(); ++k) {
    const Level& l = chip_.levels[k];
    for (auto* all : {&instances_[k], &of_unit_[k]})
      for (size_t n = 0; n < all->size(); ++n) {
        const int of = all == &of_unit_[k] ? static_cast<int>(n)
                       : l.unit_wide       ? static_cast<int>(n) * l.ports / chip_.partitions
                                           : -1;
        if (unit >= 0 && of != unit) continue;
        for (Server* s : {&(*all)[n].read, &(*all)[n].write, &(*all)[n].both}) s->shift(by);
      }
  }
}

// Ticks that translation adds. Physical pages are scattered, so that power-of-two strides do not
// conflict in large caches. But any 32 and any 512 consecutive pages are a permutation, so data
// that fits a cache has no conflicts.
double Hierarchy::translate(Port& port, int64_t address) {
  if (page_bits_ == 0) return 0;
  const int64_t page = address >> page_bits_;
  if (page == port.last_page) return 0;
  port.last_page = page;
  const auto mixed = [](int64_t n) {
    return static_cast<int64_t>((static_cast<uint64_t>(n) * 0x9E3779B97F4A7C15) >> 40);
  };
  const int64_t place = page ^ (mixed(page >> 5) & 31) ^ (mixed(page >> 9) & 15) << 5;
  port.page_offset = (place - page) << page_bits_;
  double added = 0;
  for (size_t d = 0; d < port.pages.size(); ++d) {
    const auto entry =
        static_cast<int64_t>(static_cast<double>(address) / chip_.translation[d].page);
    if (port.pages[d].find(entry, 1) == Cache::Found::sectors) break;
    added += miss_[d];
    port.pages[d].insert(entry, 1);
  }
  return added;
}

// Does this miss continue a detected stream?
bool Hierarchy::is_prefetched(Port& port, int64_t line) {
  ++port.clock;
  Stream* oldest = &port.streams.front();
  for (Stream& s : port.streams) {
    if (s.next == line) {
      s.next = line + s.step;
      s.used = port.clock;
      return ++s.seen >= kConfirmed;
    }
    if (s.used < oldest->used) oldest = &s;
  }
  const int64_t last = std::exchange(port.last_miss, line);
  *oldest = {line + (line == last - 1 ? -1 : 1), line == last - 1 ? -1 : 1, 1, port.clock};
  return false;
}

Hierarchy::Pending& Hierarchy::pending(Port& port, int64_t line) const {
  return port.pending[(static_cast<uint64_t>(line) * 0x9E3779B97F4A7C15) >> 56];
}

uint8_t Hierarchy::sectors(size_t level, int64_t address, int bytes) const {
  const int shift = sector_bits_[level], last_of_line = (1 << (line_bits_[level] - shift)) - 1;
  if (last_of_line == 0) return 1;
  const auto first = static_cast<int>((address >> shift) & last_of_line),
             last = static_cast<int>(((address + bytes - 1) >> shift) & last_of_line);
  return static_cast<uint8_t>(((1 << (last + 1)) - 1) & ~((1 << first) - 1));
}

// `per_pair`: ticks of one byte read and one written. Each such pair adds a bus turnaround.
double Hierarchy::pass(Instance& through, const Level& level, bool reads, double from, int bytes,
                       double per_byte, double per_pair) {
  const double ticks = bytes * per_byte,
               start = (reads ? through.read : through.write).reserve(from, ticks);
  if (level.copy_share <= 0) return start;
  double& own = reads ? through.bytes_read : through.bytes_written;
  const double other = reads ? through.bytes_written : through.bytes_read;
  const double paired = std::clamp(other - own, 0.0, double(bytes));
  own += bytes;
  return through.both.reserve(start,
                              ticks * level.copy_share + paired * per_pair * level.turnaround);
}

// When a level starts to transfer these bytes.
double Hierarchy::served(size_t level, int port, int bytes, AccessKind kind, double at) {
  const Level& l = chip_.levels[level];
  const Costs& c = costs_[level];
  const bool reads = kind == AccessKind::read;
  double start = at;
  if (!of_unit_[level].empty()) {
    const double own = reads                       ? c.unit_read
                       : kind == AccessKind::write ? c.unit_write
                                                   : c.unit_stream;
    start = pass(of_unit_[level][static_cast<size_t>(port / chip_.partitions)], l, reads, start,
                 bytes, own, c.unit_read + c.unit_write);
  }
  if (alone_ && !of_unit_[level].empty()) return start;
  const double all = reads ? c.read : kind == AccessKind::write ? c.write : c.stream;
  return pass(instances_[level][static_cast<size_t>(port / l.ports)], l, reads, start, bytes, all,
              c.read + c.write);
}

void Hierarchy::evict(int port, size_t level, int64_t line) {
  const size_t next = level + 1;
  if (line < 0 || next >= memory_ || !chip_.levels[next].victim) return;
  const int64_t address = line * chip_.levels[level].line;
  cache(next, port).expect(line_of(next, address) + kHostPrefetch);
  evict(port, next,
        cache(next, port)
            .insert(line_of(next, address), sectors(next, address, chip_.levels[level].line)));
}

// The bytes transferred from a level: whole sectors of it and of all levels nearer than it.
Hierarchy::Pieces Hierarchy::pieces(size_t level, size_t first, int64_t address, int bytes) const {
  int64_t piece = 1;
  for (size_t k = first; k <= level; ++k) piece = std::max<int64_t>(piece, chip_.levels[k].sector);
  return {address / piece * piece, (address + bytes + piece - 1) / piece * piece};
}

// The sectors that they fill in the level's line of an address.
uint8_t Hierarchy::filled(size_t level, int64_t address, const Pieces& p) const {
  const int64_t line = line_of(level, address) << line_bits_[level];
  const int64_t begin = std::max(p.begin, line),
                end = std::min(p.end, line + chip_.levels[level].line);
  return sectors(level, begin, static_cast<int>(end - begin));
}

// What an access moves over each boundary between a level and the one that it reaches. A store
// moves its line, or its bytes, once: it is written back, and the prices of stores include reading
// it first.
void Hierarchy::count(Port& port, AccessKind kind, size_t first, size_t to, int64_t address,
                      int bytes, int moved) const {
  for (size_t k = first; k < to; ++k) {
    if (kind != AccessKind::read) {
      port.moved[k].written += moved;
      continue;
    }
    const Pieces what = pieces(k + 1, first, address, bytes);
    port.moved[k].read += static_cast<double>(what.end - what.begin);
  }
}

std::vector<Hierarchy::Bytes> Hierarchy::moved() const {
  std::vector<Bytes> out(memory_);
  for (const Port& p : ports_)
    for (size_t k = 0; k < memory_; ++k) {
      out[k].read += p.moved[k].read;
      out[k].written += p.moved[k].written;
    }
  return out;
}

void Hierarchy::repeat(int port, std::span<const Bytes> before, double times) {
  std::vector<Bytes>& moved = ports_[static_cast<size_t>(port)].moved;
  for (size_t k = 0; k < before.size(); ++k) {
    moved[k].read += times * (moved[k].read - before[k].read);
    moved[k].written += times * (moved[k].written - before[k].written);
  }
}

// Fills every cache nearer than the level of the hit, except victim caches, which only evictions
// fill.
void Hierarchy::fill(int port, size_t found, int64_t address, const Pieces& what, size_t first) {
  for (size_t k = found; k-- > first;) {
    const Level& l = chip_.levels[k];
    if (l.victim) continue;
    Cache& c = cache(k, port);
    // A cache without sectors missed, so it does not hold the line.
    evict(port, k,
          l.sector == l.line ? c.insert_new(line_of(k, address), 1)
                             : c.insert(line_of(k, address), filled(k, address, what)));
  }
}

// Does a store allocate the line in a nearer cache?
bool Hierarchy::allocated_nearer(size_t level) const {
  for (size_t k = 0; k < level; ++k)
    if (chip_.levels[k].allocates && !chip_.levels[k].victim) return true;
  return false;
}

double Hierarchy::access(int port_number, int64_t address, int bytes, AccessKind kind, double at,
                         size_t first) {
  Port& port = ports_[static_cast<size_t>(port_number)];
  at += translate(port, address);
  const int64_t wanted = line_of(0, address);  // virtual: streams continue across pages
  address += port.page_offset;
  size_t found = first;
  for (; found < memory_; ++found) {
    if (cache(found, port_number).find(line_of(found, address), sectors(found, address, bytes)) ==
        Cache::Found::sectors)
      break;
  }
  if (found == 0 && near_ && (kind == AccessKind::read || chip_.levels[0].allocates) &&
      kind != AccessKind::stream_write)
    return kind == AccessKind::read ? at + latency_[0] : at;
  const bool merges = first == 0 && kind == AccessKind::read && !port.pending.empty() &&
                      chip_.levels[0].sector > bytes;
  const int64_t wanted_sector = address >> sector_bits_[0];
  if (merges && found > 0)
    if (const Pending& c = pending(port, wanted_sector);
        c.line == wanted_sector && c.launch == launch_ && c.arrives > at)
      return std::max(c.arrives, at + latency_[0]);
  if (!chip_.levels[found].unit_wide) ++port.far;
  // Stores bypass caches that do not allocate; non-temporal ones bypass all caches.
  size_t target = found;
  if (kind == AccessKind::stream_write)
    target = memory_;
  else if (kind == AccessKind::write)
    while (target < memory_ && !chip_.levels[target].allocates) ++target;
  if (kind == AccessKind::stream_write)
    for (size_t k = found; k < memory_; ++k) cache(k, port_number).remove(line_of(k, address));
  if (kind == AccessKind::write)
    for (size_t k = 0; k < target && k < memory_; ++k)
      if (chip_.levels[k].around) cache(k, port_number).remove(line_of(k, address));
  const bool ahead = prefetch_ && is_prefetched(port, wanted);
  if (ahead)
    for (size_t k = 1; k < memory_; ++k)
      cache(k, port_number).expect(line_of(k, address) + kHostPrefetch);
  std::vector<InFlight>& under_way =
      in_flight_[static_cast<size_t>(port_number / chip_.partitions)];
  double asked = at;
  if (!ahead && kind != AccessKind::stream_write)
    for (size_t k = 1; k <= target; ++k)
      if (const InFlight& w = under_way[k]; !w.until.empty())
        asked = std::max(asked, w.until[w.next]);
  // A store that hits transfers its bytes only.
  const bool lands =
      kind == AccessKind::write && found == target && found < memory_ && chip_.threads;
  const Pieces what = pieces(target, first, address, bytes);
  const int moved =
      lands ? bytes
      : kind == AccessKind::read
          ? static_cast<int>(what.end - what.begin)
          : std::max({bytes, chip_.levels[first].sector, chip_.levels[target].sector});
  count(port, kind, first, target, address, bytes,
        kind == AccessKind::stream_write ? bytes : moved);
  double start = served(target, port_number, kind == AccessKind::stream_write ? bytes : moved, kind,
                        ahead ? at - latency_[target] : asked);
  // A processor's caches hand on what farther ones hold, at their own rate.
  if (kind == AccessKind::read && !chip_.threads)
    for (size_t k = std::max<size_t>(first, 1); k < target; ++k)
      if (!chip_.levels[k].victim) start = served(k, port_number, moved, kind, start);
  const double arrives = std::max(at + latency_[0], start + latency_[target]);
  if (!ahead && kind != AccessKind::stream_write)
    for (size_t k = 1; k <= target; ++k)
      if (InFlight& w = under_way[k]; !w.until.empty()) {
        w.until[w.next] = arrives;
        w.next = w.next + 1 == w.until.size() ? 0 : w.next + 1;
      }
  if (chip_.levels[found].victim &&
      (kind == AccessKind::read || (kind == AccessKind::write && allocated_nearer(found))))
    cache(found, port_number).remove(line_of(found, address));
  if (merges && found > 0) pending(port, wanted_sector) = {wanted_sector, launch_, arrives};
  if (kind == AccessKind::read)
    fill(port_number, found, address, what, first);
  else if (kind == AccessKind::write) {
    for (size_t k = 0; k < memory_; ++k)
      if (chip_.levels[k].allocates && !chip_.levels[k].victim && k < std::max(found, target))
        evict(port_number, k,
              cache(k, port_number).insert(line_of(k, address), filled(k, address, what)));
  }
  return kind == AccessKind::read ? arrives : std::max(at, start);
}

void Hierarchy::touch(int64_t address) {
  translate(ports_.front(), address);
  address += ports_.front().page_offset;
  size_t found = 0;
  while (found < memory_ &&
         cache(found, 0).find(line_of(found, address), sectors(found, address, 8)) !=
             Cache::Found::sectors)
    ++found;
  if (found < memory_ && found > 0 && chip_.levels[found].victim)
    cache(found, 0).remove(line_of(found, address));
  fill(0, found, address, pieces(0, 0, address, 1), 0);
}

}  // namespace assay::runtime::simulated
