// Runs checked launches on the device in order: each as its own kernel, or all by one kernel.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/opencl/buffers.h"
#include "runtime/opencl/build.h"
#include "runtime/opencl/recording.h"

namespace assay::runtime::opencl {

struct Loaded {  // what a module is made of
  const Session& session;
  std::vector<ir::Kernel> definitions;
  Build build;  // build.kernels[i] is of definitions[i]
  Buffers buffers;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Errors: what the driver says, with the launch; cancelled.
  virtual Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) = 0;
  virtual bool runs_phases() const { return false; }  // RunOptions::phases
  // Builds what run() needs for these phases.
  virtual Diags prepare(std::span<const Launch>, const RunOptions&) { return {}; }
  virtual double build_seconds() const { return 0; }  // of what runs needed so far
};

// A kernel per launch. Boundaries are ends of launches by the device's clock; the first one is the
// first launch's submission. So steps add up to the total and include launch overhead.
Result<std::unique_ptr<Launcher>> make_one_by_one(Loaded& loaded);

// As that, for kernels of a thread per lane: the driver schedules groups, and the units of queues
// are ignored. Launches of a phase are one where they can be (merged.h).
Result<std::unique_ptr<Launcher>> make_by_threads(Loaded& loaded, int threads,
                                                  MergedBuilder build_merged);

// One kernel for many launches (the dialect's `sequence`). Boundaries are the last unit's arrivals;
// the kernel's launch overhead is part of its first step. Needs session.ticks, and a device that
// shares the host's memory.
Result<std::unique_ptr<Launcher>> make_in_sequence(Loaded& loaded);

// Sets a launch's buffers and scratch as arguments of `kernel` (its own, or a copy) from `position`
// on.
cl_int bind_buffers(const Loaded& loaded, const Launch& launch, cl_kernel kernel,
                    cl_uint& position);

// A copy of a kernel object. PoCL 3.1 runs all recorded launches of a kernel object with
// its last arguments, so each recorded launch gets its own.
Owned<cl_kernel> copy_of(const Session& session, const BuiltKernel& kernel, cl_int& status);

// Steps from boundary to boundary. `ends`: per step, the count of events up to its last one.
Diags read_steps(const Session& session, std::span<const Owned<cl_event>> events,
                 std::span<const size_t> ends, RunTimes& times);

struct EventTimes {  // nanoseconds of the device's clock
  cl_ulong queued = 0, start = 0, end = 0;
};
// Errors: the driver does not report them, or its clock runs backwards.
Result<EventTimes> times_of(const Session& session, cl_event event);

// The error of a failed call, with its launch or, of a run in phases, its phase.
Diag failure_of_step(const Loaded& loaded, std::span<const Launch> launches,
                     const RunOptions& options, size_t step, const char* call, cl_int status);
Diag failure_at(const Loaded& loaded, std::span<const Launch> launches, size_t at, const char* call,
                cl_int status);

// Ends a recording and runs it warm_up + repeat times.
Result<RunTimes> run_all(Recording& recording, const RunOptions& options);

// Waits for everything enqueued, then checks each event. CL_SUCCESS, or the first failure: `at` is
// its event's position, `call` the failed call.
cl_int finish(const Session& session, std::span<const Owned<cl_event>> events, size_t& at,
              const char*& call);

}  // namespace assay::runtime::opencl
