// The parts of the report that are text: tables of the profile's values and of how the experiments
// ended. HTML, with foreign text escaped.
#pragma once

#include <string>

#include "probe/report/chart.h"

namespace assay::probe {

std::string main_values(const Source& source);  // the most important ones
std::string all_values(const Source& source);
// Every field of the profile without a number, and why.
std::string unknown_values(const Source& source);
std::string cross_checks(const Source& source);  // declared beside measured; notes of known values
std::string experiment_endings(const Source& source);  // how each experiment ended
std::string facts(const Source& source);               // what the system and the driver say
std::string chart_values(const Chart& chart);          // estimates with their intervals

std::string device_name(const Source& source);
// Device, driver, date, clock, units, budget, time taken.
std::string summary_list(const Source& source);

}  // namespace assay::probe
