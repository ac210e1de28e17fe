// A CUDA driver and its compiler on the host, for tests where there is no GPU. "Machine code" is a
// shared object that g++ made of the kernel's source; lanes are coroutines that switch at barriers
// (lanes.h); events read the host's clock. So launches, arguments and the printed text are tested,
// but not performance.
//
// It is strict. A launch must have the threads of its kernel's launch bounds, and all lanes must
// reach every barrier. Group memory is poisoned, and writes beyond the launch's size are errors. It
// fails on demand:
//   FAIL_START=STATUS    cuInit returns it
//   FAIL_BUILD=1         nothing compiles
//   FAIL_IMAGE=1         the driver rejects code
//   FAIL_MEMORY=BYTES    buffers from this size on fail
//   FAIL_AFTER=N         kernel N + 1 breaks the context: waiting and all later calls fail.
//   FAIL_GROUP=N         group N of a cooperative launch never begins.
//   NOT_TOGETHER=1       there are no cooperative launches
//   FAST_CLOCK=N         the device's clock goes N times as fast
//   HOST_CUDA_LOG=FILE   a line per call of interest
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#define API extern "C" __attribute__((visibility("default")))

namespace host_cuda {

constexpr size_t kGroupBytes = 160 * 1024;

inline long number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? -1 : std::atol(text);
}

inline void note(const char* form, ...) {
  const char* file = std::getenv("HOST_CUDA_LOG");
  if (file == nullptr) return;
  std::FILE* out = std::fopen(file, "a");
  if (out == nullptr) return;
  va_list rest;
  va_start(rest, form);
  std::vfprintf(out, form, rest);
  va_end(rest);
  std::fclose(out);
}

struct Folder {
  std::string path = "/tmp/host_cuda.XXXXXX";
  Folder() {
    if (mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~Folder() { [[maybe_unused]] const int status = std::system(("rm -r " + path).c_str()); }
};

}  // namespace host_cuda
