// Kernels for a 64-bit Arm processor: cross-compiled, and run by an emulator.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace assay::testing {

// "" where cross compiler and emulator are installed, else what is missing.
std::string missing_for_arm();

struct ArmLaunch {
  ir::Kernel kernel;
  std::vector<std::vector<std::byte>> arguments;  // the last is the output
};

// The outputs. Throws with the messages of what failed. `architecture`: of -march.
std::vector<std::vector<std::byte>> run_on_arm(std::vector<ArmLaunch> launches,
                                               const std::string& architecture);

}  // namespace assay::testing
