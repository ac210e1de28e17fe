// A plan on a device: its kernels loaded, arena and weights allocated and filled, one launch per
// step.
//
// The arena is first filled with NaN, so that reading an unwritten value shows in the result. Then
// tensors with padding (`cleared`) are filled with its value. The host's arena, of a plan for a
// limit of device memory, is filled with NaN too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/memory.h"
#include "support/result.h"
#include "toolkit/bundle.h"

namespace assay::toolkit {

struct Placement {
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Module> module;
  int arena = -1, weights = -1;           // buffers of the module; -1: of no bytes
  runtime::Memory host;                   // the host's arena
  std::vector<std::byte> host_weights;    // constants in host memory
  std::vector<runtime::Launch> launches;  // per step
  // The plan's schedule where the device runs it; else empty, and steps run one after the other.
  std::vector<ir::Command> schedule;
  std::vector<std::vector<int>> phases;  // the same of the plan's phases
  Diags notes;                           // edited sources, another cache folder
};

// Errors: device absent or of another api, kernels that do not build, out of memory.
Result<Placement> place(const Bundle& bundle, const std::string& device,
                        const runtime::LoadOptions& options);

// Groups of its schedule that are on a unit at once.
int resident_of(const ir::Plan& plan);

// NaN everywhere, pad values where the plan says so.
void poison_arena(const Placement& placement, const ir::Plan& plan);

// Where a tensor in host memory begins.
std::byte* host_bytes(const Placement& placement, const ir::PlanTensor& tensor);

// Row-major values into and out of a plan tensor in its layout. `values` has its element count;
// constants are not written.
void write_tensor(const Placement& placement, const ir::PlanTensor& tensor,
                  std::span<const float> values);
std::vector<float> read_tensor(const Placement& placement, const ir::PlanTensor& tensor);

}  // namespace assay::toolkit
