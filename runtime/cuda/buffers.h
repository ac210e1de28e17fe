// The buffers of a module: persistent device memory, with guard zones that detect writes outside a
// buffer.
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
  std::optional<Image> image{};  // instead of memory; `bytes` is the size of its rows
};

class Buffers {  // invariant: lost_ holds the errors of calls that return none
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
  // A kernel's argument: an address, or an image's texture object.
  unsigned long long argument_of(BufferRange r) const {
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
  mutable Diags lost_;  // failed reads and writes, which the next run reports
};

}  // namespace assay::runtime::cuda
