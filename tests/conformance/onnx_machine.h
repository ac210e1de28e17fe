// Many small graphs in machine code at once: each compiled by the compiler's own first choice, all
// their kernels built by one load, every case then run on a poisoned arena of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace assay::test {

struct MachineRun {
  std::vector<std::vector<float>> inputs;    // by position of Graph::inputs
  std::vector<std::vector<double>> outputs;  // by position of Graph::outputs, filled by the run
};

struct MachineCase {
  std::string name;
  const ir::Graph* graph = nullptr;
  std::vector<MachineRun> runs;
};

// The devices that machine code is tested on: those of this machine whose api the tests have a
// target for.
std::vector<std::string> machine_devices();

// Errors: a graph that no program computes (with the case's name), kernels that do not build.
Diags run_in_machine_code(const std::string& device, std::vector<MachineCase>& cases);

}  // namespace assay::test
