// A command is a row of a program's table, which drives dispatch, help and hints. The commands here
// need no prediction, so that `assay-probe` has them without linking a model.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>

namespace assay::console {

enum class ExitCode {
  ok = 0,
  no = 1,                  // the answer is no: a check failed, profiles differ
  bad_input = 2,           // an option, a file, a model, a profile is wrong
  device_unavailable = 3,  // no such device, or it cannot build or run now
  internal = 70,           // a fault of the program
  interrupted = 130,       // Ctrl-C
};

struct Context {
  const std::atomic<bool>* cancel = nullptr;  // set by Ctrl-C
  bool terminal = false;                      // stderr is a terminal: progress may redraw its line
  bool cancelled() const { return cancel != nullptr && cancel->load(); }
};

struct Command {
  std::string_view name;         // `run`, `profile show`; "": of a program without commands
  std::string_view summary;      // one line
  std::string_view arguments;    // after the name in the usage line
  std::string_view examples[2];  // after the program's name; the second may be empty
  ExitCode (*run)(const Command& self, std::span<const std::string> arguments,
                  const Context& context);
  std::string_view program = "assay";
};

// With the program: `assay profile show`.
std::string called(const Command& command);

ExitCode run_devices(const Command&, std::span<const std::string>, const Context&);
ExitCode run_probe(const Command&, std::span<const std::string>, const Context&);

}  // namespace assay::console
