// The parts of the report that are text: tables of the profile's values and of how the experiments
// went. HTML, with every foreign text escaped.
#pragma once

#include <string>

#include "probe/report/chart.h"

namespace assay::probe {

std::string main_values(const Source& source);  // what people ask for first
std::string all_values(const Source& source);
std::string unknown_values(
    const Source& source);  // every place of the profile without a number, and why
std::string cross_checks(
    const Source& source);  // declared beside measured; what notes say of known values
std::string course(const Source& source);      // how each experiment ended
std::string facts(const Source& source);       // what the system and the driver say
std::string chart_values(const Chart& chart);  // estimates with their intervals

std::string device_name(const Source& source);
std::string summary_list(
    const Source& source);  // device, driver, date, clock, units, budget, time taken

}  // namespace assay::probe
