// The buffers of a module: device memory that persists, in zones that show when a kernel wrote
// outside it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/cuda/image.h"
#include "runtime/cuda/session.h"
#include "runtime/device.h"
#include "runtime/memory.h"

namespace assay::runtime::cuda {

struct Buffer {
  Owned<Address> memory;
  int64_t bytes = 0;             // without the guard zones
  std::optional<Image> image{};  // instead of memory: `bytes` are its rows
};

class Buffers {  // invariant: what went wrong in a call that returns nothing is in lost_
 public:
  Buffers(const Session& session, bool guarded) : session_(session), guarded_(guarded) {}

  // Zeroed. Errors: out of memory.
  Result<int> allocate(int64_t bytes);
  Result<int> allocate_image(const ImageShape& shape);
  void write(BufferRange to, std::span<const std::byte> data);
  void write_words(int buffer, std::span<const Word> words);
  void read(BufferRange from, std::span<std::byte> data) const;

  size_t size() const { return all_.size(); }
  int64_t bytes_of(int buffer) const {
    return at(buffer).image ? at(buffer).image->shape.counted_bytes() : at(buffer).bytes;
  }
  Address address_of(BufferRange r) const {
    return start(at(r.buffer)) + static_cast<Address>(r.offset);
  }
  const Image* image_of(int buffer) const {
    return at(buffer).image ? &*at(buffer).image : nullptr;
  }
  // What a kernel is handed: an address, or the object through which an image is read.
  unsigned long long handed(BufferRange r) const {
    return at(r.buffer).image ? at(r.buffer).image->texture.get() : address_of(r);
  }

  Diags check_guards() const;
  Diags take_lost() { return std::exchange(lost_, {}); }

 private:
  const Buffer& at(int buffer) const { return all_.at(static_cast<size_t>(buffer)); }
  int64_t guard() const { return guarded_ ? kGuardBytes : 0; }
  Address start(const Buffer& b) const { return b.memory.get() + static_cast<Address>(guard()); }
  Status fill(const Buffer& b) const;
  bool scatter(int buffer, std::span<const Word> words);
  Status copy_in(Address to, std::span<const std::byte> data) const;
  Status copy_out(Address from, std::span<std::byte> data) const;
  Status write_to(const Buffer& b, int64_t offset, std::span<const std::byte> data) const;
  Status read_of(const Buffer& b, int64_t offset, std::span<std::byte> data) const;

  const Session& session_;
  bool guarded_;
  std::vector<Buffer> all_;
  Owned<Code> scatter_code_;
  Function scatter_ = nullptr;
  bool no_scatter_ = false;
  mutable Diags lost_;  // a read or write that failed: the next run reports it
};

}  // namespace assay::runtime::cuda
