// Which experiments run: those that are named, and all of a named topic together with what they
// need.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace assay::probe {

// In the order of the table; empty for no names. A named experiment runs without what it needs,
// with defaults instead. Errors: a name that is neither an experiment's nor a topic's.
Result<std::vector<std::string>> select_experiments(const std::vector<std::string>& names);

}  // namespace assay::probe
