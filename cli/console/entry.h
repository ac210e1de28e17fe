// What every program of ours does around its commands: signals, exceptions, and the one exit.
#pragma once

#include <span>
#include <string>

#include "cli/console/command.h"

namespace assay::console {

using RunWords = ExitCode (*)(std::span<const std::string> words, const Context& context);

// For main: Ctrl-C asks to stop and, the second time, stops; what is thrown, or a failed CHECK, is
// exit code 70.
int enter(const char* program, int argc, char** argv, RunWords run);

}  // namespace assay::console
