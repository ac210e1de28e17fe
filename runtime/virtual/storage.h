// Buffers in the simulated chip's address space, backed by host memory. Untouched pages take no
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/result.h"

namespace assay::runtime::simulated {

class Storage {  // invariant: buffers are disjoint and aligned to kBufferAlignment
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  // Zeroed. Errors: more than `most` bytes in total; out of host memory.
  Result<int> allocate(int64_t bytes, double most);

  size_t size() const { return buffers_.size(); }
  int64_t bytes_of(int buffer) const { return at(buffer).bytes; }
  int64_t address_of(int buffer) const { return at(buffer).address; }
  std::byte* data(int buffer) const { return at(buffer).data; }

 private:
  struct Buffer {
    std::byte* data;
    int64_t bytes, mapped, address;
  };
  const Buffer& at(int buffer) const { return buffers_.at(static_cast<size_t>(buffer)); }

  static constexpr int64_t kBufferAlignment = int64_t{2} << 20;
  std::vector<Buffer> buffers_;
  int64_t next_ = kBufferAlignment;
};

}  // namespace assay::runtime::simulated
