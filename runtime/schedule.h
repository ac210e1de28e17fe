// Schedules and phases on devices: checked, and slices as times. Shared by the devices that run
// them.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/device.h"

namespace assay::runtime {

inline constexpr double kPatience = 60;  // seconds that a kernel's unit waits for another one

// Units with a queue: up to the last one that a command names.
int units_of(std::span<const ir::Command> schedule);

// All errors, each with its command: barriers of some of these units alone; units, launches and
// groups that do not exist; else a unit that waits for ever. `groups`: per launch; `units`: of the
// device.
Diags check_schedule(std::span<const ir::Command> schedule, std::span<const int64_t> groups,
                     int units);

// All errors, each with its phase: launches that do not exist, are in several places or in none.
Diags check_phases(std::span<const std::vector<int>> phases, size_t launches);

// Adds the steps of a repeat: each launch from its first slice's begin to its last one's end.
void add_steps(RunTimes& times, std::span<const Slice> slices,
               std::span<const ir::Command> schedule, size_t launches);

}  // namespace assay::runtime
