// Runs checked launches on the device, in order: each on its own, or one kernel through all of
// them.
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
};

// A launch per kernel; boundaries are ends of launches by the device's clock, the first one the
// moment the first launch was handed over, so that steps add up to the total and hold what
// launching costs.
Result<std::unique_ptr<Launcher>> make_one_by_one(Loaded& loaded);

// As that, for kernels of a thread per lane: the driver deals the groups out, whatever units the
// queues name.
Result<std::unique_ptr<Launcher>> make_by_threads(Loaded& loaded, int threads);

// A kernel per run of launches (the dialect's `sequence`); boundaries are the last unit's arrivals.
// What handing over a kernel costs is counted to its first step. Needs session.ticks, and a device
// that shares the host's memory.
Result<std::unique_ptr<Launcher>> make_in_sequence(Loaded& loaded);

// Sets a launch's buffers and scratch as the arguments of `kernel`, which is its own or a copy of
// it, from `position` on.
cl_int bind_buffers(const Loaded& loaded, const Launch& launch, cl_kernel kernel,
                    cl_uint& position);

// A launch's kernel once more: drivers were seen to run all recorded launches of a kernel with the
// arguments it had last (PoCL 3.1), which each launch has a kernel of its own for.
Owned<cl_kernel> copy_of(const Loaded& loaded, const Launch& launch, cl_int& status);

// Steps from boundary to boundary; `ends`: per launch how many events there are up to its last one.
Diags read_steps(const Session& session, std::span<const Owned<cl_event>> events,
                 std::span<const size_t> ends, RunTimes& times);

struct EventTimes {  // nanoseconds of the device's clock
  cl_ulong queued = 0, start = 0, end = 0;
};
// Errors: the driver does not say, or its clock runs backwards.
Result<EventTimes> times_of(const Session& session, cl_event event);

// What a call that failed is to say of where it was.
Diag failure_at(const Loaded& loaded, std::span<const Launch> launches, size_t at, const char* call,
                cl_int status);

// Ends a recording and runs it as often as asked.
Result<RunTimes> run_all(Recording& recording, const RunOptions& options);

// Waits for what was enqueued, then looks at each event. CL_SUCCESS, or what failed first: its
// event's place in `at`, the call in `call`.
cl_int finish(const Session& session, std::span<const Owned<cl_event>> events, size_t& at,
              const char*& call);

}  // namespace assay::runtime::opencl
