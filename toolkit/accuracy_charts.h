// The charts of the error table's page. Internal to toolkit/.
#pragma once

#include <cstddef>
#include <vector>

#include "support/page/chart.h"
#include "toolkit/accuracy.h"

namespace assay::toolkit {

// Of a larger table rows are drawn that are evenly taken in the order of their times; the series'
// name says so.
inline constexpr size_t kMostDots = 600;

// Of each device, predicted against measured, a series for each group of operators; then of each
// group, predicted / measured against measured, a series for each device. Both in the tables'
// order.
std::vector<page::Chart> accuracy_charts(const std::vector<AccuracyTable>& tables);

}  // namespace assay::toolkit
