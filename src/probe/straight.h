// Straight-line code of growing size: a loop whose body has so many steps, all independent of most others.
#pragma once

#include <string>
#include <vector>

namespace assay::probe {

std::vector<int> straight_steps(bool threads);
std::string straight_name(int steps);

}  // namespace assay::probe
