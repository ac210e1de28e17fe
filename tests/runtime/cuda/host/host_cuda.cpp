// The driver: common.h says what it is.
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "capture.h"
#include "common.h"
#include "lanes.h"

namespace {

using namespace host_cuda;

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidImage = 200, kNotFound = 500,
              kIllegalAddress = 700, kTooLarge = 720;
constexpr size_t kUnitThreads = 2048, kUnitRegisters = 65536, kUnitBytes = 164 * 1024,
                 kUnitGroups = 16, kReservedBytes = 1024, kRegisters = 40;
constexpr unsigned kUnits = 4;
constexpr size_t kMostParameters = 24;

long kernels = 0;
bool is_broken() { return number("FAIL_AFTER") >= 0 && kernels > number("FAIL_AFTER"); }

struct Code {
  void* handle = nullptr;
};

struct Function {
  std::string name;
  void* entry = nullptr;
  int parameters = 0, threads = 0;
  size_t most_group_bytes = 48 * 1024;
  Code* code = nullptr;
  template <class T>
  T* symbol(const char* of) const {
    return static_cast<T*>(dlsym(code->handle, of));
  }
};

// CUDA_ARRAY_DESCRIPTOR, and this driver's CUarray.
struct Shape {
  size_t width, height;
  unsigned format, numbers;
  size_t number_bytes() const { return format == 0x01 ? 1 : format == 0x10 ? 2 : 4; }
  size_t row_bytes() const { return width * numbers * number_bytes(); }
};
struct Array {
  Shape shape;
  std::vector<char> bytes;
};
std::set<Array*> arrays;
struct Texture {  // a CUtexObject is the address of one
  Array* array;
  bool has_border;
};
std::set<Texture*> textures;

// A number stored as f16 or as a normalised byte.
float number_at(const char* at, unsigned format) {
  if (format == 0x01) return static_cast<float>(static_cast<unsigned char>(*at)) / 255.0f;
  _Float16 half;
  std::memcpy(&half, at, sizeof half);
  return static_cast<float>(half);
}

// Four numbers of 4 bytes. Numbers that the texel does not have are poison. Outside is poison too,
// or 0 with a border.
void read_texel(unsigned long long texture, float x, float y, void* to) {
  std::memset(to, 0x7F, 16);
  auto* const t = reinterpret_cast<Texture*>(texture);
  if (textures.count(t) == 0) return;
  const Array& a = *t->array;
  const float in_row = std::floor(x), in_rows = std::floor(y);
  if (in_row < 0 || in_rows < 0 || in_row >= static_cast<float>(a.shape.width) ||
      in_rows >= static_cast<float>(a.shape.height)) {
    if (t->has_border) std::memset(to, 0, a.shape.numbers * 4);
    return;
  }
  const auto column = static_cast<size_t>(in_row), row = static_cast<size_t>(in_rows);
  const char* from = a.bytes.data() + row * a.shape.row_bytes() +
                     column * a.shape.numbers * a.shape.number_bytes();
  if (a.shape.number_bytes() == 4)
    std::memcpy(to, from, a.shape.numbers * 4);
  else
    for (size_t i = 0; i < a.shape.numbers; ++i)
      static_cast<float*>(to)[i] = number_at(from + i * a.shape.number_bytes(), a.shape.format);
}

std::set<void*> memory;
std::set<Function*> functions;

using Entry = void (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

void call(void* entry, const std::vector<int64_t>& a) {
  reinterpret_cast<Entry>(entry)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
                                 a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19],
                                 a[20], a[21], a[22], a[23]);
}

using Clock = std::chrono::steady_clock;

// Of the device, in ns.
unsigned long long device_clock() {
  static const Clock::time_point start = Clock::now();
  const auto rate = static_cast<unsigned long long>(std::max(1L, number("FAST_CLOCK")));
  const std::chrono::nanoseconds since = Clock::now() - start;
  return 1 + rate * static_cast<unsigned long long>(since.count());
}

int run(const Function& f, unsigned groups, unsigned threads, size_t group_bytes,
        const std::vector<int64_t>& arguments, bool together) {
  *f.symbol<void (*)(int, unsigned)>("host_barrier") = host_cuda::barrier;
  *f.symbol<int (*)(int)>("host_vote") = host_cuda::vote;
  *f.symbol<void (*)()>("host_sleep") = host_cuda::sleep;
  *f.symbol<unsigned long long (*)()>("host_clock") = device_clock;
  *f.symbol<void (*)(unsigned long long, float, float, void*)>("host_texel") = read_texel;
  auto* shared = f.symbol<unsigned char>("group_memory");
  const host_cuda::Kernel kernel{f.entry,
                                 &arguments,
                                 call,
                                 threads,
                                 group_bytes,
                                 f.symbol<host_cuda::Dim>("blockIdx"),
                                 f.symbol<host_cuda::Dim>("threadIdx"),
                                 shared};
  if (shared != nullptr) std::memset(shared, host_cuda::kPoison, kGroupBytes);
  const bool ended = together ? host_cuda::run_together(kernel, groups, number("FAIL_GROUP"))
                              : host_cuda::run_in_turn(kernel, groups);
  if (!ended) return kIllegalAddress;
  for (size_t i = group_bytes; shared != nullptr && i < kGroupBytes; ++i)
    if (shared[i] != host_cuda::kPoison) return kIllegalAddress;
  return 0;
}

size_t size_of_image(const void* image) {
  const auto* header = static_cast<const Elf64_Ehdr*>(image);
  return header->e_shoff + static_cast<size_t>(header->e_shnum) * header->e_shentsize;
}

}  // namespace

API int cuInit(unsigned) {
  return number("FAIL_START") >= 0 ? static_cast<int>(number("FAIL_START")) : 0;
}
API int cuDriverGetVersion(int* version) {
  *version = 12090;
  return 0;
}
API int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
API int cuDeviceGet(int* device, int) {
  *device = 0;
  return 0;
}
API int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{1} << 34;
  return 0;
}
API int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<size_t>(size), "the host in a GPU's place");
  return 0;
}

API int cuGetErrorName(int status, const char** name) {
  static const std::pair<int, const char*> kNames[] = {{0, "CUDA_SUCCESS"},
                                                       {1, "CUDA_ERROR_INVALID_VALUE"},
                                                       {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                       {100, "CUDA_ERROR_NO_DEVICE"},
                                                       {200, "CUDA_ERROR_INVALID_IMAGE"},
                                                       {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                       {500, "CUDA_ERROR_NOT_FOUND"},
                                                       {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                       {999, "CUDA_ERROR_UNKNOWN"}};
  for (const auto& [known, text] : kNames)
    if (known == status) {
      *name = text;
      return 0;
    }
  return kInvalidValue;
}
API int cuGetErrorString(int status, const char** text) { return cuGetErrorName(status, text); }

API int cuDeviceGetPCIBusId(char* bus, int size, int) {
  std::snprintf(bus, static_cast<size_t>(size), "0000:3b:00.0");
  return 0;
}
API int cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::pair<int, int> kValues[] = {{1, 1024},
                                                {8, 48 * 1024},
                                                {9, 64 * 1024},
                                                {10, 32},
                                                {16, kUnits},
                                                {22, 131072},
                                                {23, 65536},
                                                {39, kUnitThreads},
                                                {75, 8},
                                                {76, 6},
                                                {81, kUnitBytes},
                                                {82, kUnitRegisters},
                                                {95, number("NOT_TOGETHER") < 0},
                                                {97, kGroupBytes},
                                                {106, kUnitGroups},
                                                {111, kReservedBytes}};
  *value = 0;
  for (const auto& [known, v] : kValues)
    if (known == attribute) *value = v;
  return 0;
}

API int cuDevicePrimaryCtxRetain(void** context, int) {
  static int one;
  *context = &one;
  return 0;
}
API int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
API int cuCtxSetCurrent(void* context) { return context == nullptr ? kInvalidValue : 0; }
API int cuStreamCreate(void** stream, unsigned) {
  static int one;
  *stream = &one;
  return 0;
}
API int cuStreamDestroy_v2(void*) { return 0; }
API int cuStreamSynchronize(void*) { return is_broken() ? kIllegalAddress : 0; }

API int cuEventCreate(Clock::time_point** event, unsigned) {
  *event = new Clock::time_point();
  return 0;
}
API int cuEventDestroy_v2(Clock::time_point* event) {
  delete event;
  return 0;
}
API int cuEventRecord(Clock::time_point* event, void*) {
  *event = Clock::now();
  return 0;
}
API int cuEventElapsedTime(float* milliseconds, Clock::time_point* from, Clock::time_point* to) {
  *milliseconds = std::chrono::duration<float, std::milli>(*to - *from).count();
  return 0;
}

API int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  note("allocate %zu\n", bytes);
  if (number("FAIL_MEMORY") >= 0 && bytes >= static_cast<size_t>(number("FAIL_MEMORY")))
    return kOutOfMemory;
  void* at = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  memory.insert(at);
  *address = reinterpret_cast<unsigned long long>(at);
  return 0;
}
API int cuMemFree_v2(unsigned long long address) {
  void* at = reinterpret_cast<void*>(address);
  if (memory.erase(at) == 0) return kInvalidValue;
  std::free(at);
  return 0;
}
API int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void*) {
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return 0;
}
API int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
  if (is_broken()) return kIllegalAddress;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
API int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
  if (is_broken()) return kIllegalAddress;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}

API int cuModuleLoadData(Code** code, const void* image) {
  if (number("FAIL_IMAGE") >= 0) return 209;
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return kInvalidImage;
  const Folder folder;
  const std::string file = folder.path + "/image.so";
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(image), static_cast<std::streamsize>(size_of_image(image)));
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return kInvalidImage;
  *code = new Code{handle};
  return 0;
}
API int cuModuleUnload(Code* code) {
  dlclose(code->handle);
  delete code;
  return 0;
}
API int cuModuleGetFunction(Function** function, Code* code, const char* name) {
  void* entry = dlsym(code->handle, name);
  const std::string n = name;
  const auto* parameters = static_cast<int*>(dlsym(code->handle, (n + "_parameters").c_str()));
  const auto* threads = static_cast<int*>(dlsym(code->handle, (n + "_threads").c_str()));
  if (entry == nullptr || parameters == nullptr || threads == nullptr) return kNotFound;
  *function = new Function{n, entry, *parameters, *threads, 48 * 1024, code};
  functions.insert(*function);
  return 0;
}
API int cuModuleGetGlobal_v2(unsigned long long* address, size_t* bytes, Code* code,
                             const char* name) {
  void* at = dlsym(code->handle, name);
  Dl_info info;
  Elf64_Sym* symbol = nullptr;
  if (at == nullptr || dladdr1(at, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr)
    return kNotFound;
  *address = reinterpret_cast<unsigned long long>(at);
  *bytes = symbol->st_size;
  return 0;
}
API int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void*) {
  if (is_broken()) return kIllegalAddress;
  note("copy %zu\n", bytes);
  return host_cuda::now_or_later([=] {
    return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes), 0;
  });
}

API int cuArrayCreate_v2(Array** array, const Shape* shape) {
  if ((shape->format != 0x20 && shape->format != 0x0a && shape->format != 0x10 &&
       shape->format != 0x01) ||
      (shape->numbers != 1 && shape->numbers != 2 && shape->numbers != 4))
    return kInvalidValue;
  *array = new Array{*shape, std::vector<char>(shape->row_bytes() * shape->height, 0x7F)};
  arrays.insert(*array);
  return 0;
}
API int cuArrayDestroy(Array* array) {
  if (arrays.erase(array) == 0) return kInvalidValue;
  delete array;
  return 0;
}
struct Resource {
  int kind;
  Array* array;
};
API int cuTexObjectCreate(unsigned long long* texture, const Resource* of, const void* use,
                          const void* view) {
  if (of->kind != 0 || arrays.count(of->array) == 0 || use == nullptr || view != nullptr)
    return kInvalidValue;
  const auto* outside = static_cast<const int*>(use);
  auto* t = new Texture{of->array, outside[0] == 3 && outside[1] == 3};
  textures.insert(t);
  *texture = reinterpret_cast<unsigned long long>(t);
  return 0;
}
API int cuTexObjectDestroy(unsigned long long texture) {
  auto* t = reinterpret_cast<Texture*>(texture);
  if (textures.erase(t) == 0) return kInvalidValue;
  delete t;
  return 0;
}
struct BlockCopy {  // CUDA_MEMCPY2D
  size_t from_x, from_y;
  int from_kind;
  const char* from_host;
  unsigned long long from_address;
  Array* from_array;
  size_t from_pitch, to_x, to_y;
  int to_kind;
  char* to_host;
  unsigned long long to_address;
  Array* to_array;
  size_t to_pitch, width_bytes, height;
};
API int cuMemcpy2DAsync_v2(const BlockCopy* c, void*) {
  if (is_broken()) return kIllegalAddress;
  const bool in = c->to_kind == 3;
  Array* a = in ? c->to_array : c->from_array;
  const size_t y = in ? c->to_y : c->from_y;
  if ((in ? c->from_kind : c->to_kind) != 1 || (!in && c->from_kind != 3) || arrays.count(a) == 0)
    return kInvalidValue;
  if (c->from_x != 0 || c->to_x != 0 || c->width_bytes > a->shape.row_bytes() ||
      y + c->height > a->shape.height)
    return kInvalidValue;
  for (size_t row = 0; row < c->height; ++row) {
    char* here = a->bytes.data() + (y + row) * a->shape.row_bytes();
    if (in)
      std::memcpy(here, c->from_host + row * c->from_pitch, c->width_bytes);
    else
      std::memcpy(c->to_host + row * c->to_pitch, here, c->width_bytes);
  }
  return 0;
}

API int cuFuncGetAttribute(int* value, int attribute, Function*) {
  *value = attribute == 4 ? static_cast<int>(kRegisters) : attribute == 3 ? 16 : 0;
  return 0;
}
API int cuFuncSetAttribute(Function* f, int attribute, int value) {
  if (attribute == 9 && value >= 0 && value <= 100) {
    note("share %s %d\n", f->name.c_str(), value);
    return 0;
  }
  if (attribute != 8 || static_cast<size_t>(value) > kGroupBytes) return kInvalidValue;
  f->most_group_bytes = static_cast<size_t>(value);
  return 0;
}

API int cuLaunchKernel(Function* f, unsigned gx, unsigned gy, unsigned gz, unsigned tx, unsigned ty,
                       unsigned tz, unsigned group_bytes, void* stream, void** arguments,
                       void** extra) {
  if (functions.count(f) == 0 || stream == nullptr || extra != nullptr || gx == 0 || gy != 1 ||
      gz != 1 || ty != 1 || tz != 1)
    return kInvalidValue;
  if (static_cast<int>(tx) != f->threads || group_bytes > f->most_group_bytes) return kInvalidValue;
  if (static_cast<size_t>(f->parameters) > kMostParameters) return kInvalidValue;
  std::vector<int64_t> values(kMostParameters);
  for (size_t i = 0; i < static_cast<size_t>(f->parameters); ++i)
    std::memcpy(&values[i], arguments[i], sizeof(int64_t));
  note("launch groups %u threads %u bytes %u first %lld\n", gx, tx, group_bytes,
       static_cast<long long>(values[static_cast<size_t>(f->parameters) - 1]));
  return host_cuda::now_or_later([=]() mutable {
    ++kernels;
    if (is_broken()) return 0;  // a kernel's error is reported later
    return run(*f, gx, tx, group_bytes, values, false);
  });
}

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* groups, Function* f, int threads,
                                                    size_t group_bytes) {
  if (functions.count(f) == 0 || threads <= 0) return kInvalidValue;
  const auto of = static_cast<size_t>(threads);
  *groups = static_cast<int>(std::min({kUnitThreads / of, kUnitRegisters / (kRegisters * of),
                                       kUnitBytes / (group_bytes + kReservedBytes), kUnitGroups}));
  return 0;
}
API int cuLaunchCooperativeKernel(Function* f, unsigned gx, unsigned gy, unsigned gz, unsigned tx,
                                  unsigned ty, unsigned tz, unsigned group_bytes, void* stream,
                                  void** arguments) {
  int fitting = 0;
  if (cuOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, f, static_cast<int>(tx), group_bytes) !=
          0 ||
      number("NOT_TOGETHER") >= 0)
    return kInvalidValue;
  if (stream == nullptr || gx == 0 || gy != 1 || gz != 1 || ty != 1 || tz != 1)
    return kInvalidValue;
  if (gx > kUnits * static_cast<unsigned>(fitting)) return kTooLarge;
  if (static_cast<int>(tx) != f->threads || group_bytes > f->most_group_bytes) return kInvalidValue;
  std::vector<int64_t> values(kMostParameters);
  for (size_t i = 0; i < static_cast<size_t>(f->parameters); ++i)
    std::memcpy(&values[i], arguments[i], sizeof(int64_t));
  note("together groups %u threads %u bytes %u\n", gx, tx, group_bytes);
  ++kernels;
  return is_broken() ? 0 : run(*f, gx, tx, group_bytes, values, true);
}
