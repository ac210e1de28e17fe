// Access paths besides plain loads: constants, images. A path has read-only caches of its own in
// front of the memory levels that it shares with loads. Host writes between launches invalidate
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"
#include "runtime/virtual/cache.h"
#include "runtime/virtual/chip.h"
#include "runtime/virtual/hierarchy.h"
#include "runtime/virtual/server.h"

namespace assay::runtime::simulated {

class Paths {  // invariant: caches hold the most recent lines, as their shapes allow
 public:
  Paths(const Chip& chip, const Effects& effects);

  void begin(double hz);  // before every launch
  void invalidate();      // after writes by the host

  // -1: the chip has no such path, and plain loads read these arguments.
  int number_of(ir::Space space) const;

  // When `bytes` of one line arrive, for all lanes of a wave that want it together.
  double access(int path, Hierarchy& memory, int port, int64_t address, int bytes, double at);
  int line(int path) const { return states_[static_cast<size_t>(path)].levels.front().level->line; }
  // Position of a texel in memory, in texels: images are stored in blocks.
  int64_t place(int path, int64_t texel, int64_t row) const;

 private:
  struct CacheState {
    const Level* level = nullptr;
    std::vector<Cache> caches;  // by instance
    std::vector<Server> servers;
    double latency = 0, per_byte = 0;
  };
  struct PathState {
    const Path* path = nullptr;
    std::vector<CacheState> levels;  // near to far
  };

  const Chip& chip_;
  Effects effects_;
  std::vector<PathState> states_;
};

}  // namespace assay::runtime::simulated
