#include "runtime/opencl/clock.h"

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace assay::runtime::opencl {
namespace {

#if defined(__x86_64__)

using Clock = std::chrono::steady_clock;

struct Instant {
  Clock::time_point wall;
  uint64_t ticks = 0;
};

// Both clocks at one moment: the try with the shortest window of 20.
Instant now() {
  Instant best;
  auto shortest = Clock::duration::max();
  for (int i = 0; i < 20; ++i) {
    const auto before = Clock::now();
    const uint64_t ticks = __rdtsc();
    const auto after = Clock::now();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {before + (after - before) / 2, ticks};
  }
  return best;
}

// Relative error: 20 ns in 5 ms, 4e-6.
double measure() {
  const Instant begin = now();
  while (Clock::now() - begin.wall < std::chrono::milliseconds(5)) {
  }
  const Instant end = now();
  return static_cast<double>(end.ticks - begin.ticks) /
         std::chrono::duration<double>(end.wall - begin.wall).count();
}

#elif defined(__aarch64__)

double measure() {
  uint64_t hertz = 0;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return static_cast<double>(hertz);
}

#else

double measure() { return 0; }

#endif

}  // namespace

double ticks_per_second() {
  static const double rate = measure();
  return rate;
}

}  // namespace assay::runtime::opencl
