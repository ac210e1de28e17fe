// What both programs do around their commands: signals, exceptions, and the one exit.
#pragma once

#include <span>
#include <string>

#include "cli/console/command.h"

namespace assay::console {

using RunWords = ExitCode (*)(std::span<const std::string> words, const Context& context);

// For main. The first Ctrl-C cancels, the second ends the program. Exceptions and failed CHECKs are
// exit code 70.
int enter(const char* program, int argc, char** argv, RunWords run);

}  // namespace assay::console
