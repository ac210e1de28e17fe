// What was left out because time was short.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

inline constexpr const char* kBudget = "budget";  // the reason of such an ending

// Experiments that never finished, since the budget did not suffice.
std::vector<std::string> left_out(const Observations& all);

// Notes `budget` on each unknown value that they would have told.
void note_budget(const Observations& all, hwdesc::Profile& to);

}  // namespace assay::probe
