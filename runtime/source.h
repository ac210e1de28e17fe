// Sources of kernels: the hashes they are cached under, and their symbols. Shared by the devices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "hwdesc/target.h"
#include "ir/kernel.h"
#include "runtime/device.h"

namespace assay::runtime {

// The dialect of a device's kernels.
inline const std::string& dialect_of(const DeviceInfo& device) {
  return device.dialect.empty() ? device.api : device.dialect;
}

struct Source {
  std::string hash;  // of the text and of everything else that determines the binary
  size_t size = 0;   // of the text: a proxy for compile time
};

// One per kernel. `identity`: compiler, flags, processor; `threads`: as render() takes it. The hash
// ignores a kernel's name, so equal kernels of different names share a binary. Errors: what the
// dialect can not spell, by the kernel's own name.
Result<std::vector<Source>> sources_of(std::span<const ir::Kernel> kernels,
                                       const codegen::Dialect& dialect, const std::string& identity,
                                       int threads = 1);

std::string symbol_of(const Source& s);
ir::Kernel named(const ir::Kernel& k, std::string name);

// Errors: groups with more threads than the device allows. `threads`: of a wave.
Diags check_waves(const std::string& device, std::span<const ir::Kernel> kernels, int threads,
                  int64_t most);

// Errors: element types of buffers that are not in the device's fact "stores", and types that a
// kernel computes in that are not in its fact "types".
Diags check_types(const DeviceInfo& device, std::span<const ir::Kernel> kernels);

// Errors: matrix instructions that the device or its dialect does not have. Executing one could
// kill the process by an illegal-instruction trap.
Diags check_instructions(const DeviceInfo& device, std::span<const ir::Kernel> kernels);

// Errors: the target is for another kernel language than the device's.
Diags check_dialect(const std::string& device, const std::string& dialect,
                    const hwdesc::Target& target);

}  // namespace assay::runtime
