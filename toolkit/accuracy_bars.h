// What the error table is held against, each as a value beside its bound. Internal to toolkit/.
#pragma once

#include <vector>

#include "toolkit/accuracy.h"
#include "toolkit/accuracy_points.h"

namespace assay::toolkit {

using Tables = std::vector<const Measured*>;

// Each appends to `to.bars`. A bar of the index, of each table and of `to.programs` of its groups.
void reference_bars(const ReferenceBar& b, const Tables& tables, Accuracy& to);

// No group of `to.rows` is worse than the roofline whose constants another chip gave; on that chip
// itself by at most three hundredths.
void baseline_bars(Accuracy& to);

// How many times lie in the intervals that the other devices gave: of each device, of all.
void coverage_bars(const Tables& tables, Accuracy& to);

// How wide these are, by class: an interval that is wide enough covers everything.
void width_bars(const Tables& tables, Accuracy& to);

}  // namespace assay::toolkit
