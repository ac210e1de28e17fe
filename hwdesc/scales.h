// What makes values of different scopes and clocks comparable: instances in the whole chip, and
// ticks a second.
#pragma once

#include <optional>
#include <string>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

// How many instances of a level of topology the chip has: the product of its count and those of all
// levels around it. 1 of `device` and `host`. nullopt: no such level, or a count is not known.
std::optional<double> instances_of(const Profile& profile, const std::string& per);

// The clock's highest frequency; 1 of no clock (per second). nullopt: not known.
std::optional<double> ticks_per_second(const Profile& profile, const std::string& clock);

}  // namespace assay::hwdesc
