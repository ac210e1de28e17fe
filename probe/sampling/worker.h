// Runs one experiment in a child process, so that a crash or a hang costs that experiment only.
//
// A plain fork, not fork and exec of ourselves: the child inherits the opened device and all
// earlier observations as they are, and it works from any executable (command line, tests, a Python
// module), none of which need a hidden sub-command. The price: the parent must not have threads
// that hold locks, so the parent never loads a module; devices start threads in load(), which only
// children call.
//
// The child talks in lines over a pipe; the parent hands each line on as it comes. The child dies
// with the parent, and is killed (its whole process group, compilers included) past its time limit.
// One that even then does not end, since its driver holds it in the system, is left behind.
#pragma once

#include <functional>
#include <string>

#include "probe/observation.h"

namespace assay::probe {

using Send = std::function<void(const std::string& line)>;

struct WorkerOptions {
  double limit_s = 60;               // killed after that
  std::function<bool()> go_on = {};  // asked every 50 ms; when it says no, the child is killed
};

// `body` runs in the child and returns "" or why it failed; `on_line` runs in the parent.
Ending run_worker(const std::string& experiment,
                  const std::function<std::string(const Send&)>& body,
                  const std::function<void(const std::string&)>& on_line,
                  const WorkerOptions& options);

}  // namespace assay::probe
