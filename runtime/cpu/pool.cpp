#include "runtime/cpu/pool.h"

#include <sched.h>

#include <algorithm>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace assay::runtime::cpu {
namespace {

void pin_to(int cpu) {  // 0: this thread
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  sched_setaffinity(0, sizeof set, &set);
}

class PinnedHere {  // invariant: before_ is the mask this thread had
 public:
  explicit PinnedHere(int cpu) {
    sched_getaffinity(0, sizeof before_, &before_);
    pin_to(cpu);
  }
  ~PinnedHere() { sched_setaffinity(0, sizeof before_, &before_); }
  PinnedHere(const PinnedHere&) = delete;
  PinnedHere& operator=(const PinnedHere&) = delete;

 private:
  cpu_set_t before_{};
};

// Flushes denormal operands and results to zero while it lives. They would cost a hundred cycles
// each, and the libraries we compare with flush them too.
class FlushDenormals {  // invariant: before_ is the control word this thread had
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(static_cast<unsigned>(before_) | 0x8040u); }
  ~FlushDenormals() { _mm_setcsr(static_cast<unsigned>(before_)); }
#elif defined(__aarch64__)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | (uint64_t{1} << 24)));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }
#else
  FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  [[maybe_unused]] uint64_t before_ = 0;
};

}  // namespace

Pool::Pool(std::vector<int> cpus) : cpus_(std::move(cpus)), faults_(cpus_.size()) {
  for (int unit = 1; unit < size(); ++unit) {
    workers_.push_back(std::make_unique<Worker>());
    Worker& w = *workers_.back();
    w.thread = std::thread([this, unit] { work(unit); });
  }
}

Pool::~Pool() {
  task_ = nullptr;
  for (auto& w : workers_) w->start.advance();
  for (auto& w : workers_) w->thread.join();
}

void Pool::work(int unit) {
  pin_to(cpus_[static_cast<size_t>(unit)]);
  Signal& start = workers_[static_cast<size_t>(unit - 1)]->start;
  for (uint32_t seen = 0;; ++seen) {
    start.wait_past(seen);
    if (task_ == nullptr) return;
    run_part(unit);
    joined_.wait();
  }
}

void Pool::run_part(int unit) {
  const FlushDenormals flush;
  try {
    (*task_)(unit);
  } catch (...) {
    faults_[static_cast<size_t>(unit)] = std::current_exception();
  }
}

void Pool::run(int units, const std::function<void(int)>& task) {
  const std::lock_guard lock(run_mutex_);
  const PinnedHere pinned(cpus_[0]);
  units = std::clamp(units, 1, size());
  std::fill(faults_.begin(), faults_.end(), nullptr);
  barrier_.set_parties(units);
  joined_.set_parties(units);
  task_ = &task;
  for (int u = 1; u < units; ++u) workers_[static_cast<size_t>(u - 1)]->start.advance();
  run_part(0);
  joined_.wait();
  for (const std::exception_ptr& f : faults_)
    if (f) std::rethrow_exception(f);
}

}  // namespace assay::runtime::cpu
