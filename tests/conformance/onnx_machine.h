// Runs many small graphs in machine code. Each is compiled to the compiler's first choice; one load
// builds the kernels of a batch; each case runs on a poisoned arena of its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/device.h"
#include "support/result.h"

namespace assay::test {

struct MachineRun {
  std::vector<std::vector<float>> inputs;    // by position of Graph::inputs
  std::vector<std::vector<double>> outputs;  // by position of Graph::outputs, filled by the run
};

struct MachineCase {
  std::string name;
  const ir::Graph* graph = nullptr;
  std::vector<MachineRun> runs;
  std::string ended_early{};  // message of a loop that the driver did not finish: no outputs then
};

// Errors: a graph that no program computes (with the case's name), kernels that do not build.
Diags run_in_machine_code(runtime::Device& device, std::span<MachineCase> cases);

}  // namespace assay::test
