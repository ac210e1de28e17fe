#include "runtime/cuda/nvml.h"

#include <fmt/format.h>

#include "runtime/dynamic_library.h"

namespace assay::runtime::cuda {
namespace {

using Status = int;  // nvmlReturn_t; 0: success
using Handle = struct HandleRecord*;

struct Library {
  Status (*start)() = nullptr;
  Status (*find)(const char* bus, Handle* device) = nullptr;
  Status (*energy)(Handle device, unsigned long long* millijoules) = nullptr;
  const char* (*text_of)(Status status) = nullptr;
  Diags diags;

  Library();
};

Library::Library() {
  const DynamicLibrary library =
      open_library("ASSAY_NVML_LIBRARY", {"libnvidia-ml.so.1", "libnvidia-ml.so"});
  if (library.handle == nullptr) {
    diags.push_back(error("no NVML library, which reports energy: " + library.fault,
                          "it comes with the GPU's driver"));
    return;
  }
  const auto look_up = [&](auto& field, const char* symbol) {
    field = reinterpret_cast<std::decay_t<decltype(field)>>(find_symbol(library, symbol));
    if (field == nullptr)
      diags.push_back(error(fmt::format("the NVML library lacks the function {}", symbol),
                            "a newer driver has it"));
  };
  look_up(start, "nvmlInit_v2");
  look_up(find, "nvmlDeviceGetHandleByPciBusId_v2");
  look_up(energy, "nvmlDeviceGetTotalEnergyConsumption");
  look_up(text_of, "nvmlErrorString");
  if (!diags.empty()) return;
  if (const Status s = start()) diags.push_back(error(fmt::format("nvmlInit: {}", text_of(s))));
}

}  // namespace

Result<double> read_joules(const std::string& bus) {
  static const Library library;
  if (!library.diags.empty()) return library.diags;
  Handle device = nullptr;
  if (const Status s = library.find(bus.c_str(), &device))
    return error(fmt::format("NVML does not find the GPU at {}: {}", bus, library.text_of(s)));
  unsigned long long millijoules = 0;
  if (const Status s = library.energy(device, &millijoules))
    return error(fmt::format("NVML reports no energy: {}", library.text_of(s)));
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace assay::runtime::cuda
