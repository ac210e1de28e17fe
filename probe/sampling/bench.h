// Taking samples inside a worker: calibrates how much work one sample holds, runs it, watches who
// else used the machine meanwhile, and puts a sentinel next to every block of samples.
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
// once. Where units have queues, a group runs on a unit of its own; elsewhere the device deals them
// out.
struct Job {
  std::string kernel;
  std::vector<runtime::BufferRange> arguments;  // without the parameters
  int groups = 1;
  int first_unit = 0;  // where units have queues: the one that runs the first group
  std::function<std::vector<double>(int64_t amount)>
      parameters;  // asked anew for every sample; none: the amount
  std::function<std::vector<ir::Queue>(int64_t amount)>
      queues;         // of a kernel that has no parameters
  double before = 0;  // seconds of a sample that are not measured
  double work = 1;    // what a sample is divided by, per amount: steps, operations, bytes
  int64_t most = 1;   // largest amount the kernel can be asked for
  int64_t loops = 1;  // iterations of all its loops per amount: some devices end longer ones early
  double target_s = 1e-3;  // length of one sample
  bool settles = true;     // simulating it takes no longer for being long
  int samples = 3;         // per block,
  int simulated =
      3;  // of simulated devices, whatever they take to simulate; more of what is soon simulated
};

class Bench {  // invariant: a loaded module with the sentinel calibrated
 public:
  // A failed run throws, which ends the worker: that is what workers are for (worker.h).
  Bench(runtime::Module& module, const std::vector<ir::Kernel>& kernels,
        const runtime::DeviceInfo& device);

  // One block of samples, a sentinel right behind each: it sees the clock the sample ran at (wide
  // vectors lower it on some cores, and it takes a while to rise again).
  Observation measure(const std::string& experiment, const std::string& what, const Conditions& at,
                      const Job& job);

  // Adds a sample to a block: what `run` returns, with who else ran meanwhile. Taken again where
  // the device's times are not to be believed (belief.h); throws where they never are.
  void sample(Observation& o, const std::function<double()>& run);

  // Runs a list of launches once. Seconds: of the kernels themselves; of the steps, launching
  // included.
  std::vector<double> run(std::span<const runtime::Launch> launches);  // less what launching takes
  std::vector<double> run_steps(std::span<const runtime::Launch> launches);
  double time_of_none(const Job& job);  // what a launch takes that does the job's setting up and
                                        // none of its work: the median
  // Recorded and handed over as one, the second time: seen from outside. Errors: the device records
  // nothing.
  Result<double> run_recorded(std::span<const runtime::Launch> launches);
  double run_waited_for(std::span<const runtime::Launch> launches);  // seen from outside
  runtime::Launch launch(const Job& job, int64_t amount);
  int64_t amount_for(const std::string& key, const Job& job);
  void limit_loops(int64_t iterations) { most_ = iterations; }  // the device ends longer ones early
  int64_t most_of(const Job& job) const {
    return std::min(job.most, most_ / job.loops);
  }                                                 // 0: not even one
  const Clocks& clocks() const { return clocks_; }  // of the last run
  int samples() const { return samples_; }          // taken,
  int taken_again() const {
    return taken_again_;
  }                                              // of them, since the device's times were doubtful
  double overhead() const { return overhead_; }  // of a launch whose lanes are threads, s
  bool simulated() const { return simulated_; }
  int64_t executed() const { return executed_; }  // operations of a simulator so far

  Job sentinel_job(int units, double target_s) const;

  // Bytes of a buffer that kernels are shown, as the device says (OpenCL:
  // CL_DEVICE_MAX_MEM_ALLOC_SIZE; Vulkan: maxStorageBufferRange): beyond, some read 0. What is
  // larger is refused.
  int64_t largest_buffer() const { return largest_; }
  int allocate(int64_t bytes);
  runtime::Module& module() { return module_; }
  int kernel(const std::string& name) const;
  int64_t code_bytes(const std::string& name) const;  // 0: not known
  bool has(const std::string& name) const { return kernels_.contains(name); }
  int64_t stack_bytes(const std::string& name) const;  // -1: not known
  int64_t registers(const std::string& name) const;    // of a thread; -1: not known

 private:
  runtime::RunTimes run_once(std::span<const runtime::Launch> launches);
  double believed(const std::function<double()>& run, double& waiting);
  void measure_overhead();
  double target_of(const Job& job) const;  // s a sample is to take
  bool take_block(Observation& o, const std::string& key,
                  const Job& job);  // false: too short, its amounts are forgotten
  void look_at_others();            // renews foreign_ when a window is over
  runtime::BufferRange place(const std::vector<double>& parameters);

  runtime::Module& module_;
  const bool threads_;    // lanes are: the device deals out the groups
  const bool simulated_;  // nobody can disturb it
  const bool host_;       // its units are this machine's processors, which others use, too
  const bool handed_;  // by a thread beside them, which is on one unit's core until it sleeps: 10
                       // us of what a run begins with
  const int64_t largest_;  // bytes of a buffer
  double overhead_ = 0;    // already taken off what is measured
  int64_t executed_ = 0;   // operations of simulators so far
  int64_t most_ = int64_t{1} << 40;
  int parameters_ = -1;  // a buffer of all that were asked for
  int64_t parameters_end_ = 0;
  std::map<std::vector<double>, int64_t> placed_;
  std::map<std::string, int> kernels_;
  std::map<std::string, int64_t> amounts_;
  Clocks clocks_;
  Belief worst_ = Belief::good;  // of the runs of a sample
  int samples_ = 0, taken_again_ = 0;
  CpuTimes window_start_;
  double foreign_;  // share of the machine others used in the last whole window; 1: none yet
};

[[noreturn]] void fail(const Diags& diags);  // throws; the worker reports it

}  // namespace assay::probe
