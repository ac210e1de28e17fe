#include "runtime/opencl/awake.h"

#include <sched.h>

#include "runtime/cpu/cpu_info.h"

namespace assay::runtime::opencl {
namespace {

void spin(int cpu, const std::atomic<bool>& done) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<size_t>(cpu), &only);
  sched_param none{};
  if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) return;  // never at the price of others
  if (sched_setaffinity(0, sizeof only, &only) != 0) return;
  while (!done.load(std::memory_order_relaxed))
    for (int i = 0; i < 64; ++i) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
}

}  // namespace

Awake::Awake(bool wanted) {
  static const std::vector<int> cpus = cpu::read_cpu_info().usable;
  for (size_t i = 0; wanted && i < cpus.size(); ++i)
    threads_.emplace_back([this, cpu = cpus[i]] { spin(cpu, done_); });
}

Awake::~Awake() { done_ = true; }

}  // namespace assay::runtime::opencl
