// The schedule of a plan in YAML: a list of commands. Each stands in the queues of its units, in
// the order of the list.
//
//   schedule:
//     - {run: 0}                                   # all groups of step 0, dealt to all units
//     - {run: 1, groups: [0, 28], units: [0, 1]}   # groups 0 to 27, on unit 0
//     - {signal: 0, units: [0, 1]}                 # counter 0 grows by 1 for each unit
//     - {wait: 0, value: 1, units: [1, 2]}         # unit 1 waits for counter 0 to reach 1
//     - barrier                                    # of all units
//
// And its phases: lists of steps that are launched together.
//
//   phases:
//     - [0, 1]
//     - [2]
#pragma once

#include <string>

#include "ir/plan.h"
#include "ir/text_reader.h"

namespace assay::ir {

std::string print_schedule(const Plan& p);

// Pre: the plan's steps and programs are read. Faults go to the reader.
void read_schedule(TextReader& reader, const yaml::Node& node, Plan& p);

std::string print_phases(const Plan& p);

// Pre: the plan's steps are read. Faults go to the reader.
void read_phases(TextReader& reader, const yaml::Node& node, Plan& p);

}  // namespace assay::ir
