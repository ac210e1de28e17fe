// The CUDA driver, loaded at run time. The build needs no CUDA SDK: the part in use is declared
// here. Names and numbers are from its manual (CUDA Driver API, "Data types used by CUDA driver").
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "support/result.h"

namespace assay::runtime::cuda {

using Status = int;                  // CUresult
using Address = unsigned long long;  // CUdeviceptr
using Context = struct ContextRecord*;
using Code = struct CodeRecord*;  // CUmodule
using Function = struct FunctionRecord*;
using Stream = struct StreamRecord*;
using Event = struct EventRecord*;
using Graph = struct GraphRecord*;
using GraphRun = struct GraphRunRecord*;  // CUgraphExec
using Array = struct ArrayRecord*;        // CUarray
using Texture = unsigned long long;       // CUtexObject

inline constexpr Status kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100;

enum Attribute : int {  // CUdevice_attribute
  kGroupThreads = 1,
  kGroupMemory = 8,
  kConstantMemory = 9,
  kWaveLanes = 10,
  kClock = 13,  // kHz
  kUnits = 16,
  kImageWidth = 22,
  kImageHeight = 23,
  kMemoryClock = 36,  // kHz
  kLastCache = 38,
  kUnitThreads = 39,
  kMajor = 75,
  kMinor = 76,
  kUnitMemory = 81,
  kUnitRegisters = 82,
  kCooperative = 95,       // launches whose groups run at once
  kGroupMemoryOptIn = 97,  // limit for kernels that opt in
  kUnitGroups = 106,
  kReservedMemory = 111,  // of each group's memory, by the driver
};
enum FunctionAttribute : int {
  kLocalBytes = 3,
  kRegisters = 4,
  kMostGroupMemory = 8,
  kGroupMemoryShare = 9
};  // CUfunction_attribute

// Images. The structs have the driver's layout: CUDA_ARRAY_DESCRIPTOR, CUDA_RESOURCE_DESC of an
// array, CUDA_TEXTURE_DESC, CUDA_MEMCPY2D.
enum class ArrayFormat : unsigned { u8 = 0x01, i32 = 0x0a, f16 = 0x10, f32 = 0x20 };
struct ArrayShape {
  size_t width = 0, height = 0;
  ArrayFormat format = ArrayFormat::f32;
  unsigned numbers = 1;  // of a texel
};
struct TextureSource {
  int kind = 0;  // an array
  union {
    Array array;
    int room[32];
  };
  unsigned flags = 0;
};
inline constexpr int kBorder = 3;  // reads outside give TextureUse::border: 0
struct TextureUse {
  int outside[3] = {};
  int filter = 0;  // none
  unsigned flags = 0, anisotropy = 0;
  int levels = 0;
  float bias = 0, least = 0, most = 0, border[4] = {};
  int reserved[12] = {};
};
inline constexpr int kHostMemory = 1, kArrayMemory = 3;
struct BlockCopy {
  size_t from_x = 0, from_y = 0;
  int from_kind = 0;
  const void* from_host = nullptr;
  Address from_address = 0;
  Array from_array = nullptr;
  size_t from_pitch = 0, to_x = 0, to_y = 0;
  int to_kind = 0;
  void* to_host = nullptr;
  Address to_address = 0;
  Array to_array = nullptr;
  size_t to_pitch = 0, width_bytes = 0, height = 0;
};
static_assert(sizeof(ArrayShape) == 24 && sizeof(TextureSource) == 144 &&
              sizeof(TextureUse) == 104 && sizeof(BlockCopy) == 128);

// Field, symbol in the library, parameters. Symbols are as in version 12.
#define ASSAY_CUDA_FUNCTIONS(X)                                                               \
  X(init, cuInit, unsigned flags)                                                             \
  X(driver_version, cuDriverGetVersion, int* version)                                         \
  X(error_name, cuGetErrorName, Status status, const char** name)                             \
  X(error_text, cuGetErrorString, Status status, const char** text)                           \
  X(count_devices, cuDeviceGetCount, int* count)                                              \
  X(get_device, cuDeviceGet, int* device, int number)                                         \
  X(get_name, cuDeviceGetName, char* name, int size, int device)                              \
  X(get_memory, cuDeviceTotalMem_v2, size_t* bytes, int device)                               \
  X(get_bus, cuDeviceGetPCIBusId, char* bus, int size, int device)                            \
  X(get_attribute, cuDeviceGetAttribute, int* value, int attribute, int device)               \
  X(retain_context, cuDevicePrimaryCtxRetain, Context* context, int device)                   \
  X(release_context, cuDevicePrimaryCtxRelease_v2, int device)                                \
  X(set_context, cuCtxSetCurrent, Context context)                                            \
  X(create_stream, cuStreamCreate, Stream* stream, unsigned flags)                            \
  X(destroy_stream, cuStreamDestroy_v2, Stream stream)                                        \
  X(synchronize, cuStreamSynchronize, Stream stream)                                          \
  X(create_event, cuEventCreate, Event* event, unsigned flags)                                \
  X(destroy_event, cuEventDestroy_v2, Event event)                                            \
  X(record_event, cuEventRecord, Event event, Stream stream)                                  \
  X(elapsed, cuEventElapsedTime, float* milliseconds, Event from, Event to)                   \
  X(allocate, cuMemAlloc_v2, Address* address, size_t bytes)                                  \
  X(free, cuMemFree_v2, Address address)                                                      \
  X(set_bytes, cuMemsetD8Async, Address to, unsigned char value, size_t bytes, Stream stream) \
  X(copy_in, cuMemcpyHtoDAsync_v2, Address to, const void* from, size_t bytes, Stream stream) \
  X(copy_out, cuMemcpyDtoHAsync_v2, void* to, Address from, size_t bytes, Stream stream)      \
  X(load_code, cuModuleLoadData, Code* code, const void* image)                               \
  X(unload_code, cuModuleUnload, Code code)                                                   \
  X(get_function, cuModuleGetFunction, Function* function, Code code, const char* name)       \
  X(get_global, cuModuleGetGlobal_v2, Address* address, size_t* bytes, Code code,             \
    const char* name)                                                                         \
  X(copy, cuMemcpyDtoDAsync_v2, Address to, Address from, size_t bytes, Stream stream)        \
  X(create_array, cuArrayCreate_v2, Array* array, const ArrayShape* shape)                    \
  X(destroy_array, cuArrayDestroy, Array array)                                               \
  X(create_texture, cuTexObjectCreate, Texture* texture, const TextureSource* source,         \
    const TextureUse* use, const void* view)                                                  \
  X(destroy_texture, cuTexObjectDestroy, Texture texture)                                     \
  X(copy_block, cuMemcpy2DAsync_v2, const BlockCopy* copy, Stream stream)                     \
  X(function_attribute, cuFuncGetAttribute, int* value, int attribute, Function function)     \
  X(set_function_attribute, cuFuncSetAttribute, Function function, int attribute, int value)  \
  X(launch, cuLaunchKernel, Function function, unsigned groups_x, unsigned groups_y,          \
    unsigned groups_z, unsigned threads_x, unsigned threads_y, unsigned threads_z,            \
    unsigned group_bytes, Stream stream, void** arguments, void** extra)

// Optional, since older drivers lack it: launches recorded once and submitted as one; launches
// whose groups run at once, and how many of them fit a unit.
inline constexpr int kThisThread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
#define ASSAY_CUDA_OPTIONAL_FUNCTIONS(X)                                                         \
  X(begin_capture, cuStreamBeginCapture_v2, Stream stream, int mode)                             \
  X(end_capture, cuStreamEndCapture, Stream stream, Graph* graph)                                \
  X(destroy_graph, cuGraphDestroy, Graph graph)                                                  \
  X(make_run, cuGraphInstantiateWithFlags, GraphRun* run, Graph graph, unsigned long long flags) \
  X(destroy_run, cuGraphExecDestroy, GraphRun run)                                               \
  X(launch_graph, cuGraphLaunch, GraphRun run, Stream stream)                                    \
  X(count_fitting, cuOccupancyMaxActiveBlocksPerMultiprocessor, int* groups, Function function,  \
    int threads, size_t group_bytes)                                                             \
  X(launch_together, cuLaunchCooperativeKernel, Function function, unsigned groups_x,            \
    unsigned groups_y, unsigned groups_z, unsigned threads_x, unsigned threads_y,                \
    unsigned threads_z, unsigned group_bytes, Stream stream, void** arguments)

struct Api {
#define ASSAY_DECLARE(field, symbol, ...) Status (*field)(__VA_ARGS__) = nullptr;
  ASSAY_CUDA_FUNCTIONS(ASSAY_DECLARE)
  ASSAY_CUDA_OPTIONAL_FUNCTIONS(ASSAY_DECLARE)
#undef ASSAY_DECLARE
};

// The library named by $ASSAY_CUDA_LIBRARY, else the driver's; loaded and initialised once, never
// closed. Errors: no library; missing functions, each by its name; failed initialisation.
Result<const Api*> load_api();

// The driver's name for a status (CUDA_ERROR_OUT_OF_MEMORY), or the number.
std::string name_of(const Api& api, Status status);

// The failed call and its status, with a hint where there is one. The hint says so if the context
// is no longer usable.
Diag failure(const Api& api, const char* call, Status status);

// Owner of a driver's object: releases it with a function of the api.
template <class T>
class Owned {  // invariant: holds one object, or none
 public:
  using Release = Status (*)(T);
  Owned() = default;
  Owned(T handle, Release release) : handle_(handle), release_(release) {}
  Owned(Owned&& o) noexcept : handle_(std::exchange(o.handle_, T{})), release_(o.release_) {}
  Owned& operator=(Owned&& o) noexcept {
    std::swap(handle_, o.handle_);
    std::swap(release_, o.release_);
    return *this;
  }
  ~Owned() {
    if (handle_ != T{}) release_(handle_);
  }
  T get() const { return handle_; }

 private:
  T handle_{};
  Release release_ = nullptr;
};

// 0 if the driver does not report it.
int attribute_of(const Api& api, int device, Attribute what);

}  // namespace assay::runtime::cuda
