#include "runtime/cuda/api.h"

#include <fmt/format.h>

#include "runtime/dynamic_library.h"

namespace assay::runtime::cuda {
namespace {

struct Loaded {
  Api api;
  Diags diags;
};

Loaded load() {
  Loaded out;
  const DynamicLibrary library = open_library("ASSAY_CUDA_LIBRARY", {"libcuda.so.1", "libcuda.so"});
  if (library.handle == nullptr) {
    out.diags.push_back(
        error("no CUDA driver: " + library.fault, "it comes with the GPU's driver"));
    return out;
  }
#define ASSAY_LOOK_UP(field, symbol, ...)                                                   \
  out.api.field = reinterpret_cast<decltype(out.api.field)>(find_symbol(library, #symbol)); \
  if (out.api.field == nullptr)                                                             \
    out.diags.push_back(                                                                    \
        error("the CUDA driver lacks the function " #symbol, "a newer driver has it"));
  ASSAY_CUDA_FUNCTIONS(ASSAY_LOOK_UP)
#undef ASSAY_LOOK_UP
#define ASSAY_LOOK_UP(field, symbol, ...) \
  out.api.field = reinterpret_cast<decltype(out.api.field)>(find_symbol(library, #symbol));
  ASSAY_CUDA_OPTIONAL_FUNCTIONS(ASSAY_LOOK_UP)
#undef ASSAY_LOOK_UP
  if (!out.diags.empty()) return out;
  if (const Status status = out.api.init(0))
    out.diags.push_back(failure(out.api, "cuInit", status));
  return out;
}

const char* hint_for(Status status) {
  switch (status) {
    case kOutOfMemory:
      return "a smaller model or batch, or a device that nothing else uses";
    case 3:  // NOT_INITIALIZED
      return "a driver that was started before a fork does not work after it";
    case 35:   // INSUFFICIENT_DRIVER
    case 803:  // SYSTEM_DRIVER_MISMATCH
      return "the driver's library and its kernel module differ: restart, or install both of one "
             "version";
    case kNoDevice:
      return "the driver is installed, but sees no GPU";
    case 200:  // INVALID_IMAGE
    case 209:  // NO_BINARY_FOR_GPU
    case 222:  // UNSUPPORTED_PTX_VERSION
      return "the runtime compiler is newer than the driver, or knows another GPU: name one with "
             "ASSAY_NVRTC_LIBRARY";
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 46:   // DEVICE_UNAVAILABLE
    case 999:  // UNKNOWN
      return "the device was lost: what was measured so far is kept; try again when `assay "
             "devices` lists it";
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 709:  // CONTEXT_IS_DESTROYED
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
      return "this process can not use the device any more: what was measured so far is kept; the "
             "next run starts anew";
    default:
      return "";
  }
}

}  // namespace

Result<const Api*> load_api() {
  static const Loaded loaded = load();
  if (!loaded.diags.empty()) return loaded.diags;
  return &loaded.api;
}

std::string name_of(const Api& api, Status status) {
  const char* name = nullptr;
  if (api.error_name(status, &name) == kSuccess && name != nullptr) return name;
  return fmt::format("CUDA status {}", status);
}

Diag failure(const Api& api, const char* call, Status status) {
  return error(fmt::format("{}: {}", call, name_of(api, status)), hint_for(status));
}

int attribute_of(const Api& api, int device, Attribute what) {
  int value = 0;
  return api.get_attribute(&value, what, device) == kSuccess ? value : 0;
}

}  // namespace assay::runtime::cuda
