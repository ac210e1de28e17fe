#include "runtime/virtual/cache.h"

#include <bit>

namespace assay::runtime::simulated {

Cache::Cache(const CacheShape& shape) : shape_(shape) {
  shape_.ways =
      static_cast<int>(std::clamp<int64_t>(std::min<int64_t>(shape.ways, shape.lines), 1, 64));
  int64_t sets = std::max<int64_t>(1, shape.lines / shape_.ways);
  // If ways do not divide the lines: the largest number of ways that does.
  if (shape.lines % shape_.ways != 0 && sets < 64)
    for (int ways = shape_.ways; ways > 1; --ways)
      if (shape.lines % ways == 0) {
        shape_.ways = ways;
        sets = shape.lines / ways;
        break;
      }
  sets_ = static_cast<uint64_t>(sets);
  bits_ = std::has_single_bit(sets_) ? std::countr_zero(sets_) : -1;
  entries_.assign(sets_ * static_cast<uint64_t>(shape_.ways), 0);
  if (shape.sectors) masks_.assign(entries_.size(), 0);
  heads_.assign(sets_, 0);
  if (shape_.replacement == Replacement::plru) used_.assign(sets_, 0);
}

void Cache::move(uint64_t set, int to, int from) {
  at(set, to) = at(set, from);
  if (!masks_.empty()) masks_[index(set, to)] = masks_[index(set, from)];
}

// Shifts the lines on the shorter side of the ring by one.
void Cache::to_front(uint64_t set, int way) {
  const int ways = shape_.ways, head = heads_[set],
            behind = way >= head ? way - head : way - head + ways;
  const uint32_t entry = at(set, way);
  const uint8_t mask = masks_.empty() ? uint8_t{1} : masks_[index(set, way)];
  const auto put = [&](int w) {
    at(set, w) = entry;
    if (!masks_.empty()) masks_[index(set, w)] = mask;
  };
  const auto before = [&](int w) { return w == 0 ? ways - 1 : w - 1; };
  const auto after = [&](int w) { return w + 1 == ways ? 0 : w + 1; };
  if (behind <= ways / 2) {
    for (int w = way; w != head; w = before(w)) move(set, w, before(w));
    return put(head);
  }
  const int last = before(head);
  for (int w = way; w != last; w = after(w)) move(set, w, after(w));
  put(last);
  heads_[set] = static_cast<uint8_t>(last);
}

void Cache::take_out(uint64_t set, int way) {
  if (shape_.replacement != Replacement::lru) {
    at(set, way) = 0;
    return;
  }
  const int ways = shape_.ways, last = heads_[set] == 0 ? ways - 1 : heads_[set] - 1;
  for (int w = way; w != last;) {
    const int after = w + 1 == ways ? 0 : w + 1;
    move(set, w, after);
    w = after;
  }
  at(set, last) = 0;
}

// Bit-PLRU: a bit per way; when all would be set, the others are cleared.
void Cache::mark(uint64_t set, int way) {
  uint64_t& bits = used_[set];
  const uint64_t all = shape_.ways == 64 ? ~uint64_t{0} : (uint64_t{1} << shape_.ways) - 1,
                 own = uint64_t{1} << way;
  bits = (bits | own) == all ? own : bits | own;
}

int Cache::chosen(uint64_t set) {
  for (int w = 0; w < shape_.ways; ++w)
    if (at(set, w) == 0) return w;
  if (shape_.replacement == Replacement::random) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<int>(random_ % static_cast<uint64_t>(shape_.ways));
  }
  int w = 0;
  while (w + 1 < shape_.ways && ((used_[set] >> w) & 1) != 0) ++w;
  return w;
}

}  // namespace assay::runtime::simulated
