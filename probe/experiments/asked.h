// Which experiments are run: those that are named, and of a topic that is named all, with what they
// need.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace assay::probe {

// In the order of the table; of no names, none. An experiment that is named is run without what it
// needs: a default stands for that. Errors: a name that is neither an experiment's nor a topic's.
Result<std::vector<std::string>> experiments_asked(const std::vector<std::string>& names);

}  // namespace assay::probe
