// Kernels on their way to a compiler: their texts' hashes, and the names they are built under.
// Shared by the devices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "hwdesc/target.h"
#include "ir/kernel.h"
#include "runtime/device.h"

namespace assay::runtime {

// That a device's kernels are printed in.
inline const std::string& dialect_of(const DeviceInfo& device) {
  return device.dialect.empty() ? device.api : device.dialect;
}

struct Source {
  std::string hash;  // of the text and of all that decides what it becomes
  size_t size = 0;   // of the text: stands for the time it takes
};

// One per kernel. `identity`: compiler, flags, processor; `threads`: as render() takes it. A
// kernel's name is left out of its hash: equal kernels of different names are one. Errors: what the
// dialect can not spell, by the kernel's own name.
Result<std::vector<Source>> sources_of(std::span<const ir::Kernel> kernels,
                                       const codegen::Dialect& dialect, const std::string& identity,
                                       int threads = 1);

std::string symbol_of(const Source& s);
ir::Kernel named(const ir::Kernel& k, std::string name);

// Groups of more threads than a device has for them; `threads`: of a wave.
Diags check_waves(const std::string& device, std::span<const ir::Kernel> kernels, int threads,
                  int64_t most);

// What kernels compute on that the device does not, by its fact "types".
Diags check_types(const DeviceInfo& device, std::span<const ir::Kernel> kernels);

// Matrix instructions of kernels that the device's facts, or its dialect, say it does not have:
// built all the same, they might end the process.
Diags check_instructions(const DeviceInfo& device, std::span<const ir::Kernel> kernels);

// Errors: the target is for another kernel language than the device's.
Diags check_dialect(const std::string& device, const std::string& dialect,
                    const hwdesc::Target& target);

}  // namespace assay::runtime
