#include "runtime/opencl/api.h"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/dynamic_library.h"

namespace assay::runtime::opencl {
namespace {

// Usual places of the loader, or on phones of the driver itself.
constexpr const char* kLibraries[] = {"libOpenCL.so.1", "libOpenCL.so",
                                      "/vendor/lib64/libOpenCL.so",
                                      "/system/vendor/lib64/libOpenCL.so"};

struct Loaded {
  Api api;
  Diags diags;
};

// Pins PoCL's threads, one per core. Unpinned, two of them often shared a core in kernels of
// microseconds, which then took twice as long. A user's setting is kept; other drivers ignore it.
void pin_pocl_threads() { setenv("POCL_AFFINITY", "1", 0); }

Loaded load() {
  Loaded out;
  pin_pocl_threads();
  const DynamicLibrary library =
      open_library("ASSAY_OPENCL_LIBRARY", {std::begin(kLibraries), std::end(kLibraries)});
  if (library.handle == nullptr) {
    out.diags.push_back(
        error("no OpenCL library: " + library.fault,
              "apt install ocl-icd-libopencl1 and a driver, such as pocl-opencl-icd"));
    return out;
  }
#define ASSAY_LOOK_UP(name)                                                             \
  out.api.name = reinterpret_cast<decltype(out.api.name)>(find_symbol(library, #name)); \
  if (out.api.name == nullptr)                                                          \
    out.diags.push_back(error("the OpenCL library lacks the function " #name));
  ASSAY_OPENCL_FUNCTIONS(ASSAY_LOOK_UP)
#undef ASSAY_LOOK_UP
  out.api.extension = reinterpret_cast<decltype(out.api.extension)>(
      find_symbol(library, "clGetExtensionFunctionAddressForPlatform"));
  return out;
}

const char* hint_for(cl_int status) {
  switch (status) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
      return "the device has no room or does not answer: a smaller model, fewer programs at once, "
             "or "
             "a device that nothing else uses";
    case CL_INVALID_BUFFER_SIZE:
      return "the device does not allow buffers of this size";
    case CL_INVALID_COMMAND_QUEUE:
    case CL_DEVICE_NOT_AVAILABLE:
      return "the device was lost: what was measured so far is kept; try again when `assay "
             "devices` "
             "lists it";
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

std::string name_of(cl_int status) {
  switch (status) {
#define ASSAY_NAME(code) \
  case code:             \
    return #code;
    ASSAY_NAME(CL_DEVICE_NOT_FOUND)
    ASSAY_NAME(CL_DEVICE_NOT_AVAILABLE)
    ASSAY_NAME(CL_COMPILER_NOT_AVAILABLE)
    ASSAY_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    ASSAY_NAME(CL_OUT_OF_RESOURCES)
    ASSAY_NAME(CL_OUT_OF_HOST_MEMORY)
    ASSAY_NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
    ASSAY_NAME(CL_BUILD_PROGRAM_FAILURE)
    ASSAY_NAME(CL_MAP_FAILURE)
    ASSAY_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    ASSAY_NAME(CL_INVALID_VALUE)
    ASSAY_NAME(CL_INVALID_PLATFORM)
    ASSAY_NAME(CL_INVALID_DEVICE)
    ASSAY_NAME(CL_INVALID_CONTEXT)
    ASSAY_NAME(CL_INVALID_COMMAND_QUEUE)
    ASSAY_NAME(CL_INVALID_MEM_OBJECT)
    ASSAY_NAME(CL_INVALID_BINARY)
    ASSAY_NAME(CL_INVALID_BUILD_OPTIONS)
    ASSAY_NAME(CL_INVALID_PROGRAM)
    ASSAY_NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    ASSAY_NAME(CL_INVALID_KERNEL_NAME)
    ASSAY_NAME(CL_INVALID_KERNEL)
    ASSAY_NAME(CL_INVALID_ARG_INDEX)
    ASSAY_NAME(CL_INVALID_ARG_VALUE)
    ASSAY_NAME(CL_INVALID_ARG_SIZE)
    ASSAY_NAME(CL_INVALID_KERNEL_ARGS)
    ASSAY_NAME(CL_INVALID_WORK_GROUP_SIZE)
    ASSAY_NAME(CL_INVALID_BUFFER_SIZE)
    ASSAY_NAME(CL_INVALID_OPERATION)
#undef ASSAY_NAME
    default:
      return fmt::format("OpenCL status {}", status);
  }
}

Diag failure(const char* call, cl_int status) {
  return error(fmt::format("{}: {}", call, name_of(status)), hint_for(status));
}

Result<std::vector<Place>> list_devices(const Api& api) {
  cl_uint count = 0;
  const cl_int status = api.clGetPlatformIDs(0, nullptr, &count);
  constexpr cl_int kNoPlatform = -1001;  // what the loader says where no driver is installed
  if (status == kNoPlatform || (status == CL_SUCCESS && count == 0))
    return error("the OpenCL loader finds no driver", "apt install pocl-opencl-icd, or your GPU's");
  if (status != CL_SUCCESS) return failure("clGetPlatformIDs", status);
  std::vector<cl_platform_id> platforms(count);
  api.clGetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<Place> out;
  for (cl_platform_id p : platforms) {
    cl_uint devices = 0;
    if (api.clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(devices);
    if (api.clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, devices, ids.data(), nullptr) != CL_SUCCESS)
      continue;
    for (cl_device_id id : ids) out.push_back({p, id});
  }
  return out;
}

namespace {

template <class Get>
std::string read_text(Get&& get) {
  size_t size = 0;
  if (get(0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (get(size, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

std::string text_of(const Api& api, cl_device_id device, cl_device_info what) {
  return read_text([&](size_t n, void* to, size_t* size) {
    return api.clGetDeviceInfo(device, what, n, to, size);
  });
}

std::string text_of(const Api& api, cl_platform_id platform, cl_platform_info what) {
  return read_text([&](size_t n, void* to, size_t* size) {
    return api.clGetPlatformInfo(platform, what, n, to, size);
  });
}

}  // namespace assay::runtime::opencl
