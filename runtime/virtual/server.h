// Something that serves one thing after the other: a bus, a cache's port. Time is cut into slots,
// each of which holds as much work as it lasts, so that requests may come in any order: who
// simulates ahead takes its own time, not that of those who are behind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace assay::runtime::simulated {

class Server {  // invariant: a slot holds no more work than it lasts; what is beyond has moved to
                // the next one
 public:
  void restart(double slot) {
    slot_ = std::max(slot, 1e-6);
    per_tick_ = 1 / slot_;
    base_ += int64_t{1} << 40;  // no slot of before is one of now
    full_from_ = full_to_ = 0;
  }

  // The time at which `work` begins, `from` or later.
  double reserve(double from, double work) {
    if (work <= 0) return from;
    const auto first = static_cast<int64_t>(std::max(0.0, from) * per_tick_);
    int64_t at = first >= full_from_ && first < full_to_ ? full_to_ : first;
    Slot* s = &slot(at);
    while (s->used >= slot_) s = &slot(++at);
    if (first >= full_from_ && first <= full_to_)
      full_to_ = std::max(full_to_, at);
    else if (at > first)
      full_from_ = first, full_to_ = at;
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

  // So much time goes by in which it is as busy as it was: what waits now waits then.
  void shift(double by) {
    const auto slots = static_cast<int64_t>(by * per_tick_);
    const double used = slot(full_to_).used;
    full_from_ += slots;
    full_to_ += slots;
    slot(full_to_).used = used;
  }

 private:
  static constexpr int64_t kSlots = 1024;
  struct Slot {
    int64_t number = -1;
    double used = 0;
  };
  Slot& slot(int64_t number) {
    Slot& s = slots_[static_cast<size_t>(number & (kSlots - 1))];
    if (s.number != base_ + number) s = {base_ + number, 0};
    return s;
  }

  double slot_ = 64, per_tick_ = 1.0 / 64;
  int64_t base_ = 0;
  int64_t full_from_ = 0,
          full_to_ = 0;  // slots known to be full, up to the second: who is behind need not look
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
};

}  // namespace assay::runtime::simulated
