// A set-associative cache: which lines it holds, and which sectors of them. It knows nothing of time.
//
// A set is a ring: its newest line stands at `head`, the others behind it in the order of their use (lru), or in that
// of their coming (plru, random). A line that comes takes the place of the last one, so that nothing is moved.
#pragma once

#include <algorithm>
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

class Cache {  // invariant: a line is in one way of its set at most; lru: empty ways are the last of their ring
 public:
  Cache() = default;
  explicit Cache(const CacheShape& shape);

  enum class Found { nothing, line, sectors };

  // Are all of `sectors` of a line here? Being found is being used.
  Found find(int64_t line, uint8_t sectors) {
    const uint64_t set = set_of(line);
    const int w = way_of(set, key_of(line));
    if (w < 0) return Found::nothing;
    const bool whole = (static_cast<uint8_t>(at(set, w)) & sectors) == sectors;
    use(set, w);
    return whole ? Found::sectors : Found::line;
  }
  // Brings sectors in. The line that had to go, or -1.
  int64_t insert(int64_t line, uint8_t sectors) {
    const uint64_t set = set_of(line);
    const int w = way_of(set, key_of(line));
    if (w < 0) return insert_new(line, sectors);
    at(set, w) |= sectors;
    use(set, w);
    return -1;
  }
  // The same of a line that is not here.
  int64_t insert_new(int64_t line, uint8_t sectors) {
    const uint64_t set = set_of(line);
    const int w = place(set);
    uint64_t& entry = at(set, w);
    const int64_t gone = entry == 0 ? -1 : static_cast<int64_t>(entry >> 8) - 1;
    entry = key_of(line) | sectors;
    if (shape_.replacement == Replacement::plru) mark(set, w);
    return gone;
  }
  void remove(int64_t line) {
    const uint64_t set = set_of(line);
    if (const int w = way_of(set, key_of(line)); w >= 0) take_out(set, w);
  }

 private:
  // An entry: line + 1, then its sectors in the low byte; 0: empty.
  static uint64_t key_of(int64_t line) { return static_cast<uint64_t>(line + 1) << 8; }
  uint64_t& at(uint64_t set, int way) { return entries_[set * static_cast<uint64_t>(shape_.ways) + static_cast<uint64_t>(way)]; }

  uint64_t set_of(int64_t line) const {
    auto n = static_cast<uint64_t>(line);
    if (shape_.hash) {
      n ^= n >> 17;
      n *= 0xED5AD4BBAC4C1B51;
      n ^= n >> 29;
    }
    return power_ ? n & (sets_ - 1) : n % sets_;
  }
  // Four at a time: most searches go through all ways. -1: not there.
  int way_of(uint64_t set, uint64_t key) {
    const uint64_t* entry = &at(set, 0);
    const auto differs = [&](int w) { return (entry[w] ^ key) > 0xFF; };
    int w = 0;
    for (; w + 4 <= shape_.ways; w += 4)
      if (!(differs(w) & differs(w + 1) & differs(w + 2) & differs(w + 3))) break;
    for (const int end = std::min(w + 4, shape_.ways); w < end; ++w)
      if (!differs(w)) return w;
    return -1;
  }
  // Where the next line goes.
  int place(uint64_t set) {
    if (shape_.replacement != Replacement::lru) return chosen(set);
    uint8_t& head = heads_[set];
    return head = static_cast<uint8_t>(head == 0 ? shape_.ways - 1 : head - 1);
  }
  void use(uint64_t set, int way) {
    if (shape_.replacement == Replacement::plru) mark(set, way);
    if (shape_.replacement == Replacement::lru && way != heads_[set]) to_front(set, way);
  }
  void to_front(uint64_t set, int way);
  void mark(uint64_t set, int way);
  int chosen(uint64_t set);
  void take_out(uint64_t set, int way);

  CacheShape shape_;
  uint64_t sets_ = 1;
  bool power_ = true;
  std::vector<uint64_t> entries_ = std::vector<uint64_t>(8);
  std::vector<uint8_t> heads_ = std::vector<uint8_t>(1);
  std::vector<uint64_t> used_;  // plru: a bit per way
  uint64_t random_ = 0x9E3779B97F4A7C15;
};

}  // namespace assay::runtime::simulated
