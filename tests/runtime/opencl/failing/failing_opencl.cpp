// OpenCL that fails on demand. Calls are forwarded to the real loader, except:
//   FAIL_BUILD=1       programs get a syntax error in their second line
//   FAIL_MEMORY=BYTES  buffers from this size on fail
//   FAIL_AFTER=N       the device is lost after N kernels
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace {

long number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? -1 : std::atol(text);
}

template <class F>
F real(F, const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool gone(bool another_kernel) {
  static long kernels = 0;
  const long after = number("FAIL_AFTER");
  if (after >= 0 && another_kernel) ++kernels;
  return after >= 0 && kernels > after;
}

}  // namespace

extern "C" {

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                     const size_t* lengths, cl_int* status) {
  const auto make = real(&clCreateProgramWithSource, "clCreateProgramWithSource");
  if (number("FAIL_BUILD") < 0) return make(context, count, strings, lengths, status);
  std::string text(strings[0], lengths[0]);
  text.insert(text.find('\n') + 1, "this is no OpenCL;\n");
  const char* source = text.c_str();
  const size_t size = text.size();
  return make(context, 1, &source, &size, status);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                      cl_int* status) {
  const long most = number("FAIL_MEMORY");
  if (most < 0 || size < static_cast<size_t>(most))
    return real(&clCreateBuffer, "clCreateBuffer")(context, flags, size, host, status);
  *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return nullptr;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local,
                              cl_uint count, const cl_event* wait, cl_event* event) {
  if (gone(true)) return CL_DEVICE_NOT_AVAILABLE;
  return real(&clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel")(queue, kernel, dimensions, offset,
                                                                 global, local, count, wait, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, void* to, cl_uint count, const cl_event* wait,
                           cl_event* event) {
  if (gone(false)) return CL_DEVICE_NOT_AVAILABLE;
  return real(&clEnqueueReadBuffer, "clEnqueueReadBuffer")(queue, buffer, blocking, offset, size,
                                                           to, count, wait, event);
}

}  // extern "C"
