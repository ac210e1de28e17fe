#include "runtime/virtual/cache.h"

#include <algorithm>
#include <cstring>

namespace assay::runtime::simulated {

Cache::Cache(const CacheShape& shape) : shape_(shape) {
  shape_.ways = static_cast<int>(std::clamp<int64_t>(std::min<int64_t>(shape.ways, shape.lines), 1, 64));
  sets_ = std::max<int64_t>(1, shape.lines / shape_.ways);
  // Capacities that are no whole number of sets: the ways that come nearest.
  if (shape.lines % shape_.ways != 0 && sets_ < 64)
    for (int ways = shape_.ways; ways > 1; --ways)
      if (shape.lines % ways == 0) {
        shape_.ways = ways;
        sets_ = shape.lines / ways;
        break;
      }
  power_ = (sets_ & (sets_ - 1)) == 0;
  entries_.assign(static_cast<size_t>(sets_ * shape_.ways), 0);
  if (shape_.replacement == Replacement::plru) used_.assign(static_cast<size_t>(sets_), 0);
}

uint64_t* Cache::set_of(int64_t line) {
  auto n = static_cast<uint64_t>(line);
  if (shape_.hash) {
    n ^= n >> 17;
    n *= 0xED5AD4BBAC4C1B51;
    n ^= n >> 29;
  }
  const auto sets = static_cast<uint64_t>(sets_);
  const uint64_t set = power_ ? n & (sets - 1) : n % sets;
  return &entries_[set * static_cast<uint64_t>(shape_.ways)];
}

void Cache::use(uint64_t* set, int way) {
  if (shape_.replacement == Replacement::lru) {
    if (way == 0) return;
    const uint64_t entry = set[way];
    std::memmove(set + 1, set, static_cast<size_t>(way) * sizeof *set);
    set[0] = entry;
  } else if (shape_.replacement == Replacement::plru) {
    uint64_t& bits = used_[static_cast<size_t>(set - entries_.data()) / static_cast<size_t>(shape_.ways)];
    const uint64_t all = shape_.ways == 64 ? ~uint64_t{0} : (uint64_t{1} << shape_.ways) - 1, own = uint64_t{1} << way;
    bits = (bits | own) == all ? own : bits | own;
  }
}

int Cache::victim(uint64_t* set) {
  for (int w = 0; w < shape_.ways; ++w)
    if (set[w] == 0) return w;
  if (shape_.replacement == Replacement::lru) return shape_.ways - 1;
  if (shape_.replacement == Replacement::random) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<int>(random_ % static_cast<uint64_t>(shape_.ways));
  }
  const uint64_t bits = used_[static_cast<size_t>(set - entries_.data()) / static_cast<size_t>(shape_.ways)];
  int w = 0;
  while (w + 1 < shape_.ways && ((bits >> w) & 1) != 0) ++w;
  return w;
}

Cache::Found Cache::find(int64_t line, uint8_t sectors) {
  uint64_t* set = set_of(line);
  const uint64_t key = key_of(line);
  for (int w = 0; w < shape_.ways; ++w)
    if ((set[w] & ~uint64_t{0xFF}) == key) {
      const bool whole = (static_cast<uint8_t>(set[w]) & sectors) == sectors;
      use(set, w);
      return whole ? Found::sectors : Found::line;
    }
  return Found::nothing;
}

int64_t Cache::insert(int64_t line, uint8_t sectors) {
  uint64_t* set = set_of(line);
  const uint64_t key = key_of(line);
  for (int w = 0; w < shape_.ways; ++w)
    if ((set[w] & ~uint64_t{0xFF}) == key) {
      set[w] |= sectors;
      use(set, w);
      return -1;
    }
  const int w = victim(set);
  const int64_t gone = set[w] == 0 ? -1 : static_cast<int64_t>(set[w] >> 8) - 1;
  set[w] = key | sectors;
  use(set, w);
  return gone;
}

void Cache::remove(int64_t line) {
  uint64_t* set = set_of(line);
  const uint64_t key = key_of(line);
  for (int w = 0; w < shape_.ways; ++w)
    if ((set[w] & ~uint64_t{0xFF}) == key) {
      // Empty ways stand at the back of what is ordered by use.
      if (shape_.replacement == Replacement::lru) std::memmove(set + w, set + w + 1, static_cast<size_t>(shape_.ways - 1 - w) * sizeof *set);
      set[shape_.replacement == Replacement::lru ? shape_.ways - 1 : w] = 0;
      return;
    }
}

}  // namespace assay::runtime::simulated
