// The commands of `assay`: rows of the table in commands.cpp, which drives dispatch, help and
// hints.
#pragma once

#include "cli/console/command.h"

namespace assay::cli {

using namespace console;  // options and output, as in assay-probe

std::span<const Command> commands();

// The command that `words` begin with, and how many words its name takes; nullptr: none.
const Command* find_command(std::span<const std::string> words, size_t& name_words);

// Dispatches all of `assay ...`; words do not include the program's name.
ExitCode run_words(std::span<const std::string> words, const Context& context);

// One function per row; `devices` and `probe` are in console.
ExitCode run_profile_list(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_show(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_check(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_schema(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_diff(const Command&, std::span<const std::string>, const Context&);
ExitCode run_profile_merge(const Command&, std::span<const std::string>, const Context&);
ExitCode run_compile(const Command&, std::span<const std::string>, const Context&);
ExitCode run_run(const Command&, std::span<const std::string>, const Context&);
ExitCode run_simulate(const Command&, std::span<const std::string>, const Context&);
ExitCode run_report(const Command&, std::span<const std::string>, const Context&);
ExitCode run_estimate(const Command&, std::span<const std::string>, const Context&);
ExitCode run_whatif(const Command&, std::span<const std::string>, const Context&);
ExitCode run_accuracy(const Command&, std::span<const std::string>, const Context&);
ExitCode run_validate(const Command&, std::span<const std::string>, const Context&);
ExitCode run_validate_fusion(const Command&, std::span<const std::string>, const Context&);
ExitCode run_validate_schedules(const Command&, std::span<const std::string>, const Context&);
ExitCode run_calibrate(const Command&, std::span<const std::string>, const Context&);

}  // namespace assay::cli
