// Runs one experiment in a child process, so that a crash or a hang costs that experiment only.
//
// A plain fork, not fork and exec: the child has all earlier observations, and it works from any
// executable (command line, tests, a Python module) without a hidden sub-command. The price: the
// parent must not have threads that hold locks. Devices start threads when they open and load, so
// only children do that.
//
// The child sends lines over a pipe, which the parent forwards as they arrive. The child dies with
// the parent, and its whole process group (compilers included) is killed past its time limit. A
// child that its driver holds in the kernel is abandoned.
#pragma once

#include <functional>
#include <string>

#include "probe/observation.h"

namespace assay::probe {

using Send = std::function<void(const std::string& line)>;

struct WorkerOptions {
  double limit_s = 60;  // killed after that
  // Polled every 50 ms; when it says no, the child is killed.
  std::function<bool()> keep_running = {};
  // Killed at this time of a steady clock as well, which may change.
  std::function<double()> until = {};
};

// `body` runs in the child and returns "" or why it failed; `on_line` runs in the parent.
Ending run_worker(const std::string& experiment,
                  const std::function<std::string(const Send&)>& body,
                  const std::function<void(const std::string&)>& on_line,
                  const WorkerOptions& options);

}  // namespace assay::probe
