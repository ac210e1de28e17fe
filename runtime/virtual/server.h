// A resource that serves one request at a time: a bus, a cache's port. Time is divided into slots,
// each with a capacity of its length. So requests may arrive out of order: a stream that is
// simulated ahead does not delay streams behind it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace assay::runtime::simulated {

class Server {  // invariant: no slot is used longer than it lasts; the rest is in later slots
 public:
  void restart(double slot) {
    slot_ = std::max(slot, 1e-6);
    per_tick_ = 1 / slot_;
    base_ += int64_t{1} << 40;  // invalidates all slots
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
    // Work longer than a slot continues in the following ones.
    for (int64_t n = at; s->used > slot_; s = &slot(++n)) {
      const double rest = s->used - slot_;
      s->used = slot_;
      slot(n + 1).used += rest;
    }
    return start;
  }

  // Shifts time in a steady state: the backlog stays the same.
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
          full_to_ = 0;  // slots [full_from_, full_to_) are full and need no search
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
};

}  // namespace assay::runtime::simulated
