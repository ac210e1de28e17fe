// The buffers of a module: device memory that persists, in zones that show when a kernel wrote
// outside it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/memory.h"
#include "runtime/opencl/session.h"

namespace assay::runtime::opencl {

struct Buffer {
  Memory pages;  // its storage, where the device shares the host's memory
  Owned<cl_mem> memory;
  int64_t bytes = 0;                // without the guard zones
  std::optional<ImageShape> image;  // that it is
};

// Zeroed. Errors: out of memory, or more than the device allows.
Result<Buffer> make_buffer(const Session& session, int64_t bytes, int64_t guard);

// The same of an image. Errors: the device has no images, or none of such texels, or none as large.
Result<Buffer> make_image(const Session& session, const ImageShape& shape);

class Buffers {  // invariant: what went wrong in a call that returns nothing is in lost_
 public:
  Buffers(const Session& session, bool guarded) : session_(session), guarded_(guarded) {}

  Result<int> allocate(int64_t bytes);
  Result<int> allocate_image(const ImageShape& shape);
  void write(BufferRange to, std::span<const std::byte> data);
  void write_words(int buffer, std::span<const Word> words);
  void read(BufferRange from, std::span<std::byte> data) const;
  std::optional<double> map(BufferRange range, int64_t bytes);

  size_t size() const { return all_.size(); }
  int64_t bytes_of(int buffer) const {
    return at(buffer).image ? at(buffer).image->counted_bytes() : at(buffer).bytes;
  }
  const ImageShape* image_of(int buffer) const {
    return at(buffer).image ? &*at(buffer).image : nullptr;
  }
  cl_mem memory_of(int buffer) const { return at(buffer).memory.get(); }
  // Where a range begins in its cl_mem, and as an address, where the device shares the host's
  // memory.
  int64_t offset_of(BufferRange r) const { return r.offset + guard(); }
  int64_t address_of(BufferRange r) const;

  Diags check_guards() const;
  Diags take_lost() { return std::exchange(lost_, {}); }

 private:
  const Buffer& at(int buffer) const { return all_.at(static_cast<size_t>(buffer)); }
  int64_t guard() const { return guarded_ ? kGuardBytes : 0; }

  const Session& session_;
  bool guarded_;
  std::vector<Buffer> all_;
  mutable Diags lost_;  // a read or write that failed: the next run reports it
};

}  // namespace assay::runtime::opencl
