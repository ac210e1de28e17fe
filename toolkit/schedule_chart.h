// A plan's units in time as an <svg> element: a row per unit, a bar per step that it runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "toolkit/trace.h"

namespace assay::toolkit {

struct ScheduleChart {
  std::span<const TraceSlice> slices;  // by unit
  std::span<const int> colours;        // per step: the class of its bars is `step-colour-N`
  double seconds = 0;                  // the width
  double critical_path = 0, work = 0;  // lower bounds, drawn as lines; 0: none
};

// Units with the same bars are one row.
std::string schedule_svg(const ScheduleChart& chart);

}  // namespace assay::toolkit
