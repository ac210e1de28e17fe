// Something that serves one thing after the other: a bus, a cache's port. Time is cut into slots, each of which holds as
// much work as it lasts, so that requests may come in any order: who simulates ahead takes its own time, not that of
// those who are behind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace assay::runtime::simulated {

class Server {  // invariant: a slot holds no more work than it lasts; what is beyond has moved to the next one
 public:
  void restart(double slot) {
    slot_ = std::max(slot, 1e-6);
    base_ += int64_t{1} << 40;  // no slot of before is one of now
  }

  // The time at which `work` begins, `from` or later.
  double reserve(double from, double work) {
    if (work <= 0) return from;
    int64_t at = static_cast<int64_t>(std::max(0.0, from) / slot_);
    const int64_t first = at;
    Slot* s = &slot(at);
    while (s->used >= slot_) {
      const int64_t next = std::max(at + 1, std::min(s->next, at + kSlots / 2));
      at = next;
      s = &slot(at);
    }
    if (at > first) slot(first).next = at;
    const double start = std::max(from, static_cast<double>(at) * slot_ + s->used);
    s->used += work;
    // What lasts longer than a slot fills those behind it at once.
    for (int64_t n = at; s->used > slot_; s = &slot(++n)) {
      const double rest = s->used - slot_;
      s->used = slot_;
      slot(n + 1).used += rest;
    }
    return start;
  }

 private:
  static constexpr int64_t kSlots = 4096;
  struct Slot {
    int64_t number = -1;
    int64_t next = 0;  // where a search that found this one full ended
    double used = 0;
  };
  Slot& slot(int64_t number) {
    Slot& s = slots_[static_cast<size_t>(number & (kSlots - 1))];
    if (s.number != base_ + number) s = {base_ + number, 0, 0};
    return s;
  }

  double slot_ = 64;
  int64_t base_ = 0;
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
};

}  // namespace assay::runtime::simulated
