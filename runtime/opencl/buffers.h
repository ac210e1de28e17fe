// The buffers of a module: persistent device memory, with guard zones that detect writes outside a
// buffer.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/memory.h"
#include "runtime/opencl/session.h"

namespace assay::runtime::opencl {

struct Buffer {
  Memory pages;  // its storage, if the device shares the host's memory
  Owned<cl_mem> memory;
  int64_t bytes = 0;                // without the guard zones
  std::optional<ImageShape> image;  // if it is one
};

// Zeroed. Errors: out of memory; larger than the device allows.
Result<Buffer> make_buffer(const Session& session, int64_t bytes, int64_t guard);

// Writes the beginning of a buffer, or of a larger one in its place. Errors: as make_buffer; what
// the driver says.
Diags upload(const Session& session, Buffer& buffer, const void* data, size_t bytes);

// The same for an image. Errors: no images; unsupported texels; larger than the device allows.
Result<Buffer> make_image(const Session& session, const ImageShape& shape);

class Buffers {  // invariant: lost_ holds the errors of calls that return none
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
  // Begin of a range in its cl_mem, and its address if the device shares the host's memory.
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
  mutable Diags lost_;  // failed reads and writes, which the next run reports
};

}  // namespace assay::runtime::opencl
