// The OpenCL driver, loaded at run time: the build needs its headers, not its library.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/result.h"

namespace assay::runtime::opencl {

// clang-format off
#define ASSAY_OPENCL_FUNCTIONS(X) \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) \
  X(clCreateContext) X(clReleaseContext) X(clCreateCommandQueue) X(clReleaseCommandQueue) \
  X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clBuildProgram) \
  X(clGetProgramBuildInfo) X(clGetProgramInfo) X(clReleaseProgram) X(clCreateKernel) \
  X(clReleaseKernel) X(clSetKernelArg) X(clGetKernelWorkGroupInfo) X(clCreateBuffer) \
  X(clReleaseMemObject) X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject) X(clEnqueueReadBuffer) \
  X(clEnqueueWriteBuffer) X(clEnqueueNDRangeKernel) X(clFlush) X(clFinish) \
  X(clGetEventProfilingInfo) X(clGetEventInfo) X(clReleaseEvent) X(clWaitForEvents) \
  X(clCreateImage) X(clGetSupportedImageFormats) X(clEnqueueReadImage) X(clEnqueueWriteImage)
// clang-format on

struct Api {
#define ASSAY_DECLARE(name) decltype(&::name) name = nullptr;
  ASSAY_OPENCL_FUNCTIONS(ASSAY_DECLARE)
#undef ASSAY_DECLARE
  void*(CL_API_CALL* extension)(cl_platform_id platform, const char* function) =
      nullptr;  // nullptr: the loader has no extensions
};

// The library named by $ASSAY_OPENCL_LIBRARY, else the system's loader; loaded once, never closed.
// Errors: no library; a missing function.
Result<const Api*> load_api();

// The constant's name (CL_OUT_OF_RESOURCES), or the number.
std::string name_of(cl_int status);

// The failed call and its status, with a hint where there is one. The hint says so if the device is
// no longer usable.
Diag failure(const char* call, cl_int status);

// Owner of an OpenCL object: releases it with a function of the api.
template <class T>
class Owned {  // invariant: holds one reference, or none
 public:
  using Release = cl_int(CL_API_CALL*)(T);
  Owned() = default;
  Owned(T handle, Release release) : handle_(handle), release_(release) {}
  Owned(Owned&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)), release_(o.release_) {}
  Owned& operator=(Owned&& o) noexcept {
    std::swap(handle_, o.handle_);
    std::swap(release_, o.release_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) release_(handle_);
  }
  T get() const { return handle_; }

 private:
  T handle_ = nullptr;
  Release release_ = nullptr;
};

// One platform's device, as the driver lists them.
struct Place {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
};

// All devices of all platforms, in the loader's order. Errors: no platform answers.
Result<std::vector<Place>> list_devices(const Api& api);

// "" if the driver does not report it.
std::string text_of(const Api& api, cl_device_id device, cl_device_info what);
std::string text_of(const Api& api, cl_platform_id platform, cl_platform_info what);

// 0 if the driver does not report it.
template <class T>
T number_of(const Api& api, cl_device_id device, cl_device_info what) {
  T value{};
  if (api.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

}  // namespace assay::runtime::opencl
