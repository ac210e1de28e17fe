#include "runtime/virtual/storage.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

namespace assay::runtime::simulated {

Storage::~Storage() {
  for (const Buffer& b : buffers_) ::munmap(b.data, static_cast<size_t>(b.mapped));
}

Result<int> Storage::allocate(int64_t bytes, double most) {
  ASSAY_CHECK(bytes >= 0);
  const auto refuse = [&] {
    return error(fmt::format("out of memory: {} bytes for one buffer", bytes),
                 "a chip whose profile has more memory");
  };
  if (static_cast<double>(next_ - kBufferAlignment) + static_cast<double>(bytes) > most)
    return refuse();
  const int64_t mapped =
      std::max<int64_t>(1, (bytes + kBufferAlignment - 1) / kBufferAlignment) * kBufferAlignment;
  void* at = ::mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return refuse();
  buffers_.push_back({static_cast<std::byte*>(at), bytes, mapped, next_});
  next_ += mapped;
  return static_cast<int>(buffers_.size()) - 1;
}

}  // namespace assay::runtime::simulated
