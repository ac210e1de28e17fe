// Waiting between threads of the pool: spin for the usual time between launches, then park in the
// kernel (futex), so that an idle pool costs nothing.
//
// A Signal is a counter. `advance` adds one and wakes parked threads; `wait_past(seen)` returns
// when it is no longer `seen`. A thread announces itself before it checks the counter again, both
// sequentially consistent, so no wake-up is lost.
#pragma once

#include <atomic>
#include <cstdint>

namespace assay::runtime::cpu {

// Between tasks: an idle pool must not use CPU time while others measure.
inline constexpr double kIdleSpinSeconds = 50e-6;
// Inside a task: waking a parked unit costs about 20 us, which every step after one with uneven
// queues would pay.
inline constexpr double kTaskSpinSeconds = 2e-3;

class Signal {  // invariant: sleepers_ >= number of threads parked on value_
 public:
  explicit Signal(double spin_seconds = kIdleSpinSeconds) : spin_seconds_(spin_seconds) {}
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  void advance();
  void wait_past(uint32_t seen);
  // Until it has been advanced so often in all; fewer than 2^31 times ahead.
  void wait_for(uint32_t value) {
    for (uint32_t now = this->value(); static_cast<int32_t>(now - value) < 0; now = this->value())
      wait_past(now);
  }

 private:
  alignas(64) std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
  double spin_seconds_;
};

class Barrier {  // invariant: arrived_ < parties_ between rounds
 public:
  explicit Barrier(double spin_seconds = kIdleSpinSeconds) : released_(spin_seconds) {}
  // Only while no thread waits.
  void set_parties(int n) { parties_ = n; }
  void wait();

 private:
  alignas(64) std::atomic<int> arrived_{0};
  int parties_ = 1;
  Signal released_;
};

// CLOCK_MONOTONIC, seconds (one reading costs 20-50 ns).
double now_seconds();

}  // namespace assay::runtime::cpu
