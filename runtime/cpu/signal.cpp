#include "runtime/cpu/signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace assay::runtime::cpu {
namespace {

constexpr int kSpinsPerClock = 64;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void futex(std::atomic<uint32_t>& word, int op, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), op | FUTEX_PRIVATE_FLAG, value, nullptr,
          nullptr, 0);
}

}  // namespace

void Signal::advance() {
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(value_, FUTEX_WAKE, INT_MAX);
}

void Signal::wait_past(uint32_t seen) {
  double deadline = 0;
  for (int i = 1;; ++i) {
    if (value_.load(std::memory_order_acquire) != seen) return;
    relax();
    if (i % kSpinsPerClock != 0) continue;
    const double now = now_seconds();
    if (deadline == 0) deadline = now + spin_seconds_;
    if (now > deadline) break;
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (value_.load(std::memory_order_seq_cst) == seen) futex(value_, FUTEX_WAIT, seen);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Barrier::wait() {
  // Read before arriving: the last thread to arrive may change them at once.
  const uint32_t seen = released_.value();
  const int parties = parties_;
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < parties)
    return released_.wait_past(seen);
  arrived_.store(0, std::memory_order_relaxed);
  released_.advance();
}

double now_seconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace assay::runtime::cpu
