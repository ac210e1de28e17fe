// One pinned thread per usable CPU. The calling thread is unit 0 while a task runs, so that no
// coordinator competes with the units for a core; its CPU mask is then restored.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/cpu/signal.h"

namespace assay::runtime::cpu {

class Pool {  // invariant: workers_[u - 1] is parked or runs unit u's part of the current task
 public:
  explicit Pool(std::vector<int> cpus);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int size() const { return static_cast<int>(cpus_.size()); }

  // Runs task(unit) on units 0..units-1 and returns when all have finished; the other threads stay
  // parked. Units run with denormals flushed to zero. The exception of the lowest unit is rethrown;
  // a task that throws must not use barrier(). Calls from several threads are serialised.
  void run(int units, const std::function<void(int)>& task);

  // For use inside a task, by all its units.
  Barrier& barrier() { return barrier_; }

 private:
  struct Worker {
    Signal start;
    std::thread thread;
  };

  void work(int unit);
  void run_part(int unit);

  std::vector<int> cpus_;
  std::vector<std::unique_ptr<Worker>> workers_;  // of units 1..
  std::mutex run_mutex_;
  const std::function<void(int)>* task_ = nullptr;  // nullptr on wake-up: exit
  std::vector<std::exception_ptr> faults_;
  Barrier barrier_{kTaskSpinSeconds}, joined_;
};

}  // namespace assay::runtime::cpu
