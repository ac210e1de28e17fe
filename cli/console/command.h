// What a command of our programs is: a row of a program's table, which drives dispatch, help and
// hints. Here are the commands that need no prediction, so that a program without one can have them
// too.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>

namespace assay::console {

enum class ExitCode {
  ok = 0,
  no = 1,                  // the answer is no: a check failed, two things differ
  bad_input = 2,           // an option, a file, a model, a profile is wrong
  device_unavailable = 3,  // no such device, or it cannot build or run now
  internal = 70,           // our own fault
  interrupted = 130,       // Ctrl-C
};

struct Context {
  const std::atomic<bool>* cancel = nullptr;  // set by Ctrl-C
  bool terminal = false;                      // stderr is a terminal: progress may redraw its line
  bool cancelled() const { return cancel != nullptr && cancel->load(); }
};

struct Command {
  std::string_view name;     // words: `run`, `profile show`; "": what the program does without one
  std::string_view summary;  // one line
  std::string_view arguments;    // after the name in the usage line
  std::string_view examples[2];  // after the program's name
  ExitCode (*run)(const Command& self, std::span<const std::string> arguments,
                  const Context& context);
  std::string_view program = "assay";
};

// How people call it: `assay profile show`.
std::string called(const Command& command);

ExitCode run_devices(const Command&, std::span<const std::string>, const Context&);
ExitCode run_probe(const Command&, std::span<const std::string>, const Context&);

}  // namespace assay::console
