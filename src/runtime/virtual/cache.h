// A set-associative cache: which lines it holds, and which sectors of them. It knows nothing of time.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/virtual/effects.h"

namespace assay::runtime::simulated {

struct CacheShape {
  int64_t lines = 0;
  int ways = 8;
  bool hash = false;
  Replacement replacement = Replacement::lru;
};

class Cache {  // invariant: a line is in one way of its set at most; order of use: front to back
 public:
  Cache() = default;
  explicit Cache(const CacheShape& shape);

  enum class Found { nothing, line, sectors };

  // Are all of `sectors` of a line here? Being found is being used.
  Found find(int64_t line, uint8_t sectors);
  // Brings sectors in. The line that had to go, or -1.
  int64_t insert(int64_t line, uint8_t sectors);
  void remove(int64_t line);

 private:
  // An entry: line + 1, then its sectors in the low byte; 0: empty.
  static uint64_t key_of(int64_t line) { return static_cast<uint64_t>(line + 1) << 8; }
  uint64_t* set_of(int64_t line);
  void use(uint64_t* set, int way);
  int victim(uint64_t* set);

  CacheShape shape_;
  int64_t sets_ = 1;
  bool power_ = true;
  std::vector<uint64_t> entries_ = std::vector<uint64_t>(1);
  std::vector<uint64_t> used_;  // plru: a bit per way
  uint64_t random_ = 0x9E3779B97F4A7C15;
};

}  // namespace assay::runtime::simulated
