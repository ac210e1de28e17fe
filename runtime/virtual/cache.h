// A set-associative cache: which lines it holds, and which sectors of them. It has no notion of
// time.
//
// A set is a ring. Its newest line is at `head`, followed by the others in order of use (lru) or of
// insertion (plru, random). A new line replaces the last one, so no entry is moved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/virtual/effects.h"

namespace assay::runtime::simulated {

struct CacheShape {
  int64_t lines = 0;
  int ways = 8;
  bool sectors = false;
  bool hash = false;
  Replacement replacement = Replacement::lru;
};

class Cache {  // invariant: a line is in at most one way of its set; lru: empty ways are last in
               // the ring
 public:
  Cache() = default;
  explicit Cache(const CacheShape& shape);

  enum class Found { nothing, line, sectors };

  // Looks up sectors of a line. A hit counts as a use.
  Found find(int64_t line, uint8_t sectors) {
    const Place p = place_of(line);
    const int w = way_of(p);
    if (w < 0) return Found::nothing;
    const bool whole = masks_.empty() || (masks_[index(p.set, w)] & sectors) == sectors;
    use(p.set, w);
    return whole ? Found::sectors : Found::line;
  }
  // Inserts sectors. Returns the evicted line, or -1.
  int64_t insert(int64_t line, uint8_t sectors) {
    const Place p = place_of(line);
    const int w = way_of(p);
    if (w < 0) return insert_new(line, sectors);
    if (!masks_.empty()) masks_[index(p.set, w)] |= sectors;
    use(p.set, w);
    return -1;
  }
  // The same for a line that is not cached.
  int64_t insert_new(int64_t line, uint8_t sectors) {
    const Place p = place_of(line);
    const int w = next_way(p.set);
    uint32_t& entry = at(p.set, w);
    const int64_t evicted = entry == 0 ? -1 : line_at(p.set, entry);
    entry = p.tag;
    if (!masks_.empty()) masks_[index(p.set, w)] = sectors;
    if (shape_.replacement == Replacement::plru) mark(p.set, w);
    return evicted;
  }
  void remove(int64_t line) {
    const Place p = place_of(line);
    if (const int w = way_of(p); w >= 0) take_out(p.set, w);
  }
  // Prefetches the set into the host's caches, as the line will be looked up soon.
  void expect(int64_t line) const {
    __builtin_prefetch(&entries_[index(place_of(line).set, 0)], 1);
  }

 private:
  struct Place {
    uint64_t set;
    uint32_t tag;  // never 0, which marks an empty way
  };
  size_t index(uint64_t set, int way) const {
    return set * static_cast<uint64_t>(shape_.ways) + static_cast<uint64_t>(way);
  }
  uint32_t& at(uint64_t set, int way) { return entries_[index(set, way)]; }

  Place place_of(int64_t line) const {
    const auto n = static_cast<uint64_t>(line);
    if (shape_.hash) {
      uint64_t h = (n ^ n >> 17) * 0xED5AD4BBAC4C1B51;
      h ^= h >> 29;
      return {h % sets_, static_cast<uint32_t>(n + 1)};
    }
    if (bits_ >= 0) return {n & (sets_ - 1), static_cast<uint32_t>((n >> bits_) + 1)};
    return {n % sets_, static_cast<uint32_t>(n / sets_ + 1)};
  }
  int64_t line_at(uint64_t set, uint32_t tag) const {
    const uint64_t high = tag - 1;
    return static_cast<int64_t>(shape_.hash  ? high
                                : bits_ >= 0 ? high << bits_ | set
                                             : high * sets_ + set);
  }
  // Four ways at a time, since most lookups miss. -1: not cached.
  int way_of(const Place& p) {
    const uint32_t* entry = &at(p.set, 0);
    int w = 0;
    for (; w + 4 <= shape_.ways; w += 4)
      if ((entry[w] == p.tag) | (entry[w + 1] == p.tag) | (entry[w + 2] == p.tag) |
          (entry[w + 3] == p.tag))
        break;
    for (const int end = std::min(w + 4, shape_.ways); w < end; ++w)
      if (entry[w] == p.tag) return w;
    return -1;
  }
  // The way for a new line.
  int next_way(uint64_t set) {
    if (shape_.replacement != Replacement::lru) return chosen(set);
    uint8_t& head = heads_[set];
    return head = static_cast<uint8_t>(head == 0 ? shape_.ways - 1 : head - 1);
  }
  void use(uint64_t set, int way) {
    if (shape_.replacement == Replacement::plru) mark(set, way);
    if (shape_.replacement == Replacement::lru && way != heads_[set]) to_front(set, way);
  }
  void move(uint64_t set, int to, int from);
  void to_front(uint64_t set, int way);
  void mark(uint64_t set, int way);
  int chosen(uint64_t set);
  void take_out(uint64_t set, int way);

  CacheShape shape_;
  uint64_t sets_ = 1;
  int bits_ = 0;  // -1: the number of sets is no power of two
  std::vector<uint32_t> entries_ = std::vector<uint32_t>(8);
  std::vector<uint8_t> masks_;  // sectors of each; empty: lines are whole
  std::vector<uint8_t> heads_ = std::vector<uint8_t>(1);
  std::vector<uint64_t> used_;  // plru: a bit per way
  uint64_t random_ = 0x9E3779B97F4A7C15;
};

}  // namespace assay::runtime::simulated
