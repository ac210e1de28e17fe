// What a command of `assay` is: a row of the one table in commands.cpp that drives dispatch, help
// and hints.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>

namespace assay::cli {

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
};

struct Command {
  std::string_view name;         // one or two words: `run`, `profile show`
  std::string_view summary;      // one line
  std::string_view arguments;    // after the name in the usage line
  std::string_view examples[2];  // after `assay `
  ExitCode (*run)(const Command& self, std::span<const std::string> arguments,
                  const Context& context);
};

std::span<const Command> commands();

// The command that `words` begin with, and how many words its name takes; nullptr: none.
const Command* find_command(std::span<const std::string> words, size_t& name_words);

// Dispatches all of `assay ...`; words do not include the program's name.
ExitCode run_words(std::span<const std::string> words, const Context& context);

// One function per row.
ExitCode run_devices(const Command&, std::span<const std::string>, const Context&);
ExitCode run_probe(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_list(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_show(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_check(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_schema(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_diff(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_merge(const Command&, std::span<const std::string>, const Context&);
ExitCode run_compile(const Command&, std::span<const std::string>, const Context&);
ExitCode run_run(const Command&, std::span<const std::string>, const Context&);
ExitCode run_simulate(const Command&, std::span<const std::string>, const Context&);
ExitCode run_validate(const Command&, std::span<const std::string>, const Context&);

}  // namespace assay::cli
