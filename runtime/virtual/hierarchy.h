// Where the lines of memory are, and when they arrive: caches, far memory, translation, streams
// that are foreseen.
//
// A line comes from the nearest level that holds it. It waits for a free place among the lines in
// flight, then for that level's bandwidth, then it takes that level's latency:
//   arrives = served + latency,  served >= asked, no more bytes per tick than the level has
// A stream that goes on line after line was foreseen: it was asked for a latency earlier. A store
// that brings a line in pays for writing it at once, not when the line leaves: what a launch costs
// must not depend on who wrote before.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/virtual/cache.h"
#include "runtime/virtual/chip.h"
#include "runtime/virtual/server.h"

namespace assay::runtime::simulated {

enum class AccessKind { read, write, stream_write };

class Hierarchy {  // invariant: caches hold what was touched last, as their shapes allow
 public:
  Hierarchy(const Chip& chip, const Effects& effects);

  // Before every launch: time begins at 0 again, at this clock, for so many units at work.
  void begin(double hz, int active_units);

  // Time goes by as it did: for a unit and what it has to itself, or, -1, for all.
  void shift(int unit, double by);

  // When bytes within one line of the first level arrive (reading) or are out of the way (writing).
  // `first`: the nearest level that is asked.
  double access(int port, int64_t address, int bytes, AccessKind kind, double at, size_t first = 0);

  // A host's write on a processor: it leaves the line in the caches of the first unit.
  void touch(int64_t address);

  int line() const { return line_; }
  double near_latency() const { return latency_.front(); }
  // Accesses answered beyond what one unit has to itself, by a port, in this launch.
  int64_t far_accesses(int port) const { return ports_[static_cast<size_t>(port)].far; }

 private:
  struct Instance {            // of a level
    Server read, write, both;  // `both`: what reading and writing take from each other
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
  struct Coming {  // a line on its way: who wants more of it meanwhile waits for the same one
    int64_t line = -1, launch = 0;
    double arrives = 0;
  };
  struct Pieces {  // bytes begin to end of memory
    int64_t begin = 0, end = 0;
  };
  struct Port {
    std::vector<Cache> pages;  // per depth of translation
    int64_t last_page = -1;
    int64_t moved = 0;  // from its addresses to where the page lies
    std::vector<Stream> streams;
    int64_t clock = 0, last_miss = -1, far = 0;
    std::vector<Coming> coming;  // by a hash of the line; of threads
  };

  static double pass(Instance& through, const Level& level, bool reads, double from, int bytes,
                     double per_byte, double per_pair);
  double served(size_t level, int port, int bytes, AccessKind kind, double at);
  double translate(Port& port, int64_t address);
  bool foreseen(Port& port, int64_t line);
  Coming& coming(Port& port, int64_t line) const;
  Pieces pieces(size_t level, size_t first, int64_t address, int bytes) const;
  uint8_t filled(size_t level, int64_t address, const Pieces& p) const;
  void bring_in(int port, size_t found, int64_t address, const Pieces& what, size_t first);
  void give_up(int port, size_t level, int64_t line);
  bool taken_nearer(size_t level) const;
  Cache& cache(size_t level, int port) {
    return caches_[level][static_cast<size_t>(port / chip_.levels[level].ports)];
  }
  int64_t line_of(size_t level, int64_t address) const { return address >> line_bits_[level]; }
  uint8_t sectors(size_t level, int64_t address, int bytes) const;
  void restart_servers();

  const Chip& chip_;
  bool prefetch_;
  bool near_;  // the first level is a unit's own, and what it hands over is for its core to count
  int line_;
  size_t memory_;       // the last level
  int page_bits_ = 0;   // 0: nothing is translated
  bool alone_ = true;   // one unit is at work
  int64_t launch_ = 0;  // that began last
  std::vector<std::vector<Cache>> caches_;
  std::vector<std::vector<Instance>> instances_;
  std::vector<std::vector<Instance>>
      of_unit_;  // per level and unit, where a unit alone gets less than all
  std::vector<Port> ports_;
  std::vector<std::vector<InFlight>> under_way_;  // per unit and level
  std::vector<double> latency_, miss_;            // ticks at this clock
  std::vector<Costs> costs_;
  std::vector<int> line_bits_, sector_bits_;
};

}  // namespace assay::runtime::simulated
