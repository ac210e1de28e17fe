// Ways to read memory besides plain loads: constants, images. A path has caches of its own before
// the levels of memory that it shares with loads. They are read-only: what a host writes between
// launches empties them.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"
#include "runtime/virtual/cache.h"
#include "runtime/virtual/chip.h"
#include "runtime/virtual/hierarchy.h"
#include "runtime/virtual/server.h"

namespace assay::runtime::simulated {

class Paths {  // invariant: caches hold what was read last, as their shapes allow
 public:
  Paths(const Chip& chip, const Effects& effects);

  void begin(double hz);  // before every launch
  void forget();          // what the host has written is not in them

  // Where such arguments are read as plain ones: -1.
  int number_of(ir::Space space) const;

  // When a turn is over in which lanes are served that want `bytes` of one line: of all lanes of a
  // wave together.
  double access(int path, Hierarchy& behind, int port, int64_t address, int bytes, double at);
  int line(int path) const { return ways_[static_cast<size_t>(path)].levels.front().level->line; }
  // Where a texel of an image lies, in texels from its beginning: blocks of them lie together.
  int64_t place(int path, int64_t texel, int64_t row) const;

 private:
  struct Own {
    const Level* level = nullptr;
    std::vector<Cache> caches;  // by instance
    std::vector<Server> servers;
    double latency = 0, per_byte = 0;
  };
  struct Way {
    const Path* path = nullptr;
    std::vector<Own> levels;  // near to far
  };

  const Chip& chip_;
  Effects effects_;
  std::vector<Way> ways_;
};

}  // namespace assay::runtime::simulated
