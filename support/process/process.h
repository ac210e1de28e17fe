// Child processes, started by argument list without a shell, several at a time, and killed as a
// group on cancellation.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace assay::process {

struct Command {
  std::vector<std::string> argv;  // argv[0]: path of the program
  std::string log;                // file for its stdout and stderr
};

enum class Ending { exited, signalled, not_started, cancelled };

struct Outcome {
  Ending ending = Ending::not_started;
  int code = 0;  // exit code or signal
  bool good() const { return ending == Ending::exited && code == 0; }
};

// At most `parallel` at a time, in order. `done(i, outcome)` is called on this thread as each ends.
// `cancel` set: running ones are killed and no others are started.
std::vector<Outcome> run_all(const std::vector<Command>& commands, int parallel,
                             const std::atomic<bool>* cancel,
                             const std::function<void(size_t, const Outcome&)>& done = {});

struct Filtered {
  Outcome outcome;
  std::string output, messages;  // stdout and stderr
};

// A program that reads `input` and writes what it makes of it. `cancel` set: it is killed.
Filtered filter(const std::vector<std::string>& argv, const std::string& input,
                const std::atomic<bool>* cancel = nullptr);

// First line a program prints, "" when it fails.
std::string first_line_of(const std::vector<std::string>& argv);

// Full path of a program on PATH, "" when there is none. A name with a slash is not searched.
std::string find_program(const std::string& name);

}  // namespace assay::process
