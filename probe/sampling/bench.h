// Takes samples inside a worker: calibrates the work of a sample, runs it, records how others used
// the machine meanwhile, and puts a sentinel next to every block of samples.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "probe/observation.h"
#include "probe/sampling/belief.h"
#include "probe/sampling/system.h"
#include "runtime/device.h"

namespace assay::probe {

// What one sample runs: `amount` iterations (or passes) of `kernel` in each of `groups` groups at
// once. Where units have queues, each group has a unit; elsewhere the device schedules them.
struct Job {
  std::string kernel;
  std::vector<runtime::BufferRange> arguments;  // without the parameters
  int groups = 1;
  int first_unit = 0;  // where units have queues: the one that runs the first group
  // Computed for every sample; none: the amount.
  std::function<std::vector<double>(int64_t amount)> parameters;
  // Of a kernel that has no parameters.
  std::function<std::vector<ir::Queue>(int64_t amount)> queues;
  double setup_s = 0;  // of a sample, deducted
  double work = 1;     // divisor of a sample, per amount: steps, operations, bytes
  int64_t most = 1;    // largest amount the kernel can be asked for
  int64_t least = 1;   // smallest amount whose time is that of any other part of the work
  int64_t loops = 1;   // iterations of all its loops per amount: some devices end long loops early
  double target_s = 1e-3;  // length of one sample
  bool settles = true;  // the simulator extrapolates a steady state, so that length costs nothing
  int samples = 3;      // per block,
  int simulated = 3;    // the same of simulated devices; more if they are fast to simulate
};

class Bench {  // invariant: a loaded module with the sentinel calibrated
 public:
  // A failed run throws, which ends the worker (worker.h).
  Bench(runtime::Module& module, const std::vector<ir::Kernel>& kernels,
        const runtime::DeviceInfo& device);

  // One block of samples with a sentinel directly after each, which shows the clock of the sample.
  // Wide vectors lower it on some cores, and it recovers slowly.
  Observation measure(const std::string& experiment, const std::string& what, const Conditions& at,
                      const Job& job);

  // Adds a sample to a block: what `run` returns, and how others used the machine meanwhile.
  // Repeated where the device's times are implausible (belief.h); throws where they always are.
  void sample(Observation& o, const std::function<double()>& run);

  // Runs a list of launches once. Seconds: of the kernels themselves; of the steps, launching
  // included.
  std::vector<double> run(std::span<const runtime::Launch> launches);  // without launch overhead
  std::vector<double> run_steps(std::span<const runtime::Launch> launches);
  // The same of phases of so many launches each, without barriers inside them.
  std::vector<double> run_phases(std::span<const runtime::Launch> launches, size_t together);
  // Median time of a launch that does the job's setup and none of its work.
  double setup_time(const Job& job);
  // Recorded and submitted as one, the second time: timed by the host. Errors: the device records
  // nothing.
  Result<double> run_recorded(std::span<const runtime::Launch> launches);
  double run_waited_for(std::span<const runtime::Launch> launches);  // timed by the host
  runtime::Launch launch(const Job& job, int64_t amount);
  int64_t amount_for(const std::string& key, const Job& job);
  void limit_loops(int64_t iterations) { most_ = iterations; }  // the device ends longer ones early
  int64_t most_of(const Job& job) const {
    return std::min(job.most, most_ / job.loops);
  }                                                 // 0: not even one
  const Clocks& clocks() const { return clocks_; }  // of the last run
  int samples() const { return samples_; }          // taken,
  int repeated_samples() const {
    return repeated_samples_;
  }                                              // of them, since the device's times were doubtful
  double overhead() const { return overhead_; }  // of a launch whose lanes are threads, s
  bool simulated() const { return simulated_; }
  int64_t executed() const { return executed_; }  // operations of a simulator so far

  Job sentinel_job(int units, double target_s) const;

  // Largest buffer in bytes, by the device (OpenCL: CL_DEVICE_MAX_MEM_ALLOC_SIZE; Vulkan:
  // maxStorageBufferRange). Reads beyond may return 0, so larger ones are refused.
  int64_t largest_buffer() const { return largest_; }
  int allocate(int64_t bytes);
  runtime::Module& module() { return module_; }
  int kernel(const std::string& name) const;
  int64_t code_bytes(const std::string& name) const;  // 0: not known
  bool has(const std::string& name) const { return kernels_.contains(name); }
  int64_t stack_bytes(const std::string& name) const;  // -1: not known
  int64_t registers(const std::string& name) const;    // of a thread; -1: not known

 private:
  runtime::RunTimes run_once(std::span<const runtime::Launch> launches,
                             const runtime::RunOptions& options = {});
  double trusted_sample(const std::function<double()>& run, double& waiting);
  void measure_overhead();
  double target_of(const Job& job) const;  // s a sample is to take
  // false: too short; its amounts are calibrated anew
  bool take_block(Observation& o, const std::string& key, const Job& job);
  void update_foreign();  // renews foreign_ when a window is over
  runtime::BufferRange place(const std::vector<double>& parameters);

  runtime::Module& module_;
  const bool threads_;    // lanes are threads: the device schedules the groups
  const bool simulated_;  // not disturbed,
  const bool visited_;    // unless by a simulated neighbour
  const bool host_;       // its units are this machine's processors, which others use, too
  // A dispatching thread shares one unit's core for the first 10 us of a run.
  const bool helper_dispatches_;
  const int64_t largest_;  // bytes of a buffer
  double overhead_ = 0;    // deducted from samples
  int64_t executed_ = 0;   // operations of simulators so far
  int64_t most_ = int64_t{1} << 40;
  int parameters_ = -1;  // a buffer of all parameters so far
  int64_t parameters_end_ = 0;
  std::map<std::vector<double>, int64_t> placed_;
  std::map<std::string, int> kernels_;
  std::map<std::string, int64_t> amounts_;
  Clocks clocks_;
  Belief worst_ = Belief::good;  // of the runs of a sample
  int samples_ = 0, repeated_samples_ = 0;
  CpuTimes window_start_;
  double foreign_;  // share of the machine others used in the last whole window; 1: none yet
};

[[noreturn]] void fail(const Diags& diags);  // throws; the worker reports it

}  // namespace assay::probe
