// Keeps processors from going to sleep while a run lasts, where the device is the processor itself:
// its driver parks a worker between two kernels, and waking one on a core that sleeps takes as long as
// a small kernel. One thread per CPU spins at idle priority, which any other thread takes over from at
// once. Not used for devices of their own.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace assay::runtime::opencl {

class Awake {  // invariant: its threads end with it
 public:
  explicit Awake(bool wanted);
  ~Awake();
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace assay::runtime::opencl
