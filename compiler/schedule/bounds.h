// What no schedule of a plan's steps beats.
#pragma once

#include <algorithm>

namespace assay::compiler {

// s. No schedule that has each step on one range of units takes less: the longest path, each step
// at its fastest; all work at its least, spread over the units; and both at once, where a step is
// as wide for the path as for the work (allotment.h). Of phases the first two, with their launches.
struct ScheduleBounds {
  double critical_path = 0, work = 0, both = 0;
  double least() const { return std::max({critical_path, work, both}); }
  bool operator==(const ScheduleBounds&) const = default;
};

}  // namespace assay::compiler
