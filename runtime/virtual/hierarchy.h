// The memory hierarchy: which lines are cached where, and when they arrive. It has caches, memory,
// TLBs and a stream prefetcher.
//
// A line comes from the nearest level that holds it. It waits for a free outstanding miss, then for
// that level's bandwidth, then it takes that level's latency:
//   arrives = served + latency,  served >= asked, no more bytes per tick than the level has
// A miss of a detected stream was prefetched: it was requested one latency earlier. An allocating
// store pays for the write-back at once, not on eviction, so a launch's cost does not depend on
// earlier writes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/virtual/cache.h"
#include "runtime/virtual/chip.h"
#include "runtime/virtual/server.h"

namespace assay::runtime::simulated {

enum class AccessKind { read, write, stream_write };

class Hierarchy {  // invariant: caches hold the most recent lines, as their shapes allow
 public:
  Hierarchy(const Chip& chip, const Effects& effects);

  // Before every launch: resets time to 0, with this clock and number of active units.
  void begin(double hz, int active_units);

  // From now on so many units are active.
  void share_among(int active_units);

  // Shifts time in a steady state: for a unit and its private levels, or for all (-1).
  void shift(int unit, double by);

  // When bytes within one line of the first level arrive (reads) or are accepted (writes). `first`:
  // the nearest level to look in.
  double access(int port, int64_t address, int bytes, AccessKind kind, double at, size_t first = 0);

  // A write by a processor's host: it leaves the line in the first unit's caches.
  void touch(int64_t address);

  struct Bytes {
    double read = 0, written = 0;
  };
  // Per level but the last, what crossed the boundary behind it in this launch: of one port, of
  // all.
  const std::vector<Bytes>& moved(int port) const {
    return ports_[static_cast<size_t>(port)].moved;
  }
  std::vector<Bytes> moved() const;
  // A port's skipped iterations: each moved what it did since `before`.
  void repeat(int port, std::span<const Bytes> before, double times);

  int line() const { return line_; }
  double near_latency() const { return latency_.front(); }
  // A port's accesses in this launch that reached a level shared by units.
  int64_t far_accesses(int port) const { return ports_[static_cast<size_t>(port)].far; }

 private:
  struct Instance {                            // of a level
    Server read, write, both;                  // `both`: the part that reads and writes share
    double bytes_read = 0, bytes_written = 0;  // in this launch
  };
  struct Costs {  // ticks per byte
    double read = 0, write = 0, stream = 0, unit_read = 0, unit_write = 0, unit_stream = 0;
  };
  struct Stream {
    int64_t next = -1;
    int step = 1, seen = 0;
    int64_t used = 0;
  };
  struct InFlight {
    std::vector<double> until;
    size_t next = 0;
  };
  struct Pending {  // a line in flight, with which further misses of it merge (MSHR)
    int64_t line = -1, launch = 0;
    double arrives = 0;
  };
  struct Pieces {  // bytes [begin, end) of memory
    int64_t begin = 0, end = 0;
  };
  struct Port {
    std::vector<Cache> pages;  // per TLB level
    int64_t last_page = -1;
    int64_t page_offset = 0;  // from virtual to physical address
    std::vector<Stream> streams;
    int64_t clock = 0, last_miss = -1, far = 0;
    std::vector<Bytes> moved;
    std::vector<Pending> pending;  // by a hash of the line; threads only
  };

  static double pass(Instance& through, const Level& level, bool reads, double from, int bytes,
                     double per_byte, double per_pair);
  double served(size_t level, int port, int bytes, AccessKind kind, double at);
  double translate(Port& port, int64_t address);
  bool is_prefetched(Port& port, int64_t line);
  Pending& pending(Port& port, int64_t line) const;
  Pieces pieces(size_t level, size_t first, int64_t address, int bytes) const;
  uint8_t filled(size_t level, int64_t address, const Pieces& p) const;
  void count(Port& port, AccessKind kind, size_t first, size_t to, int64_t address, int bytes,
             int moved) const;
  void fill(int port, size_t found, int64_t address, const Pieces& what, size_t first);
  void evict(int port, size_t level, int64_t line);
  bool allocated_nearer(size_t level) const;
  Cache& cache(size_t level, int port) {
    return caches_[level][static_cast<size_t>(port / chip_.levels[level].ports)];
  }
  int64_t line_of(size_t level, int64_t address) const { return address >> line_bits_[level]; }
  uint8_t sectors(size_t level, int64_t address, int bytes) const;
  void restart_servers();

  const Chip& chip_;
  bool prefetch_;
  bool near_;  // the first level is private to a unit, and its core models the bandwidth
  int line_;
  size_t memory_;       // the last level
  int page_bits_ = 0;   // 0: no translation
  double hz_ = 1e9;     // of the clock
  bool alone_ = true;   // only one unit is active
  int64_t launch_ = 0;  // number of the current one
  std::vector<std::vector<Cache>> caches_;
  std::vector<std::vector<Instance>> instances_;
  std::vector<std::vector<Instance>>
      of_unit_;  // per shared level and unit: one unit alone may reach less than all
  std::vector<Port> ports_;
  std::vector<std::vector<InFlight>> in_flight_;  // per unit and level
  std::vector<double> latency_, miss_;            // ticks at this clock
  std::vector<Costs> costs_;
  std::vector<int> line_bits_, sector_bits_;
};

}  // namespace assay::runtime::simulated
