// What two profiles say differently, place by place. Numbers are compared, not where they come from.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

struct Difference {
  std::string path;
  std::string left, right;  // printed values; empty: that profile has no such place
  bool operator==(const Difference&) const = default;
};

// In the order of `left`, then what only `right` has.
std::vector<Difference> diff(const Profile& left, const Profile& right);

// One line each: `path: left -> right`; "-" where there is nothing.
std::string print_diff(const std::vector<Difference>& differences);

}  // namespace assay::hwdesc
