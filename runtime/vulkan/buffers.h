// The buffers of a module: persistent device memory, with guard zones that detect writes outside a
// buffer. They are mapped if the device shares the host's memory. Otherwise, and for images, the
// host accesses them through a staging buffer.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/memory.h"
#include "runtime/vulkan/image.h"
#include "runtime/vulkan/session.h"

namespace assay::runtime::vulkan {

struct Buffer {
  Owned<VkDeviceMemory> memory;
  Owned<VkBuffer> handle;  // after its memory, so destroyed first
  int64_t bytes = 0;       // as asked for
  int64_t size = 0;        // with the guard zones, of whole words
  std::byte* mapped = nullptr;
  std::optional<Image> image;  // instead of a buffer; `bytes` is the size of its rows
};

// Uninitialised. Errors: out of memory; larger than the device allows.
Result<Buffer> make_buffer(const Session& session, int64_t bytes, int64_t guard, Place place);

class Buffers {  // invariant: lost_ holds the errors of calls that return none
 public:
  Buffers(const Session& session, bool guarded) : session_(session), guarded_(guarded) {}

  // Zeroed.
  Result<int> allocate(int64_t bytes);
  Result<int> allocate_image(const ImageShape& shape);
  void write(BufferRange to, std::span<const std::byte> data);
  void write_words(int buffer, std::span<const Word> words);
  void read(BufferRange from, std::span<std::byte> data) const;

  size_t size() const { return all_.size(); }
  int64_t bytes_of(int buffer) const {
    return at(buffer).image ? at(buffer).image->shape.counted_bytes() : at(buffer).bytes;
  }
  const Image* image_of(int buffer) const {
    return at(buffer).image ? &*at(buffer).image : nullptr;
  }

  // The part of a buffer that is bound to a kernel, aligned as the device requires, and the range's
  // begin in it.
  struct Binding {
    VkDescriptorBufferInfo bound{};
    int64_t begin = 0;  // bytes
  };
  Binding bind(BufferRange range) const;
  // For constants: whole rows of 16 bytes. Pre: the range begins at the device's alignment.
  VkDescriptorBufferInfo bind_constants(BufferRange range, int64_t bytes) const;

  Diags check_guards() const;
  Diags take_lost() { return std::exchange(lost_, {}); }

 private:
  const Buffer& at(int buffer) const { return all_.at(static_cast<size_t>(buffer)); }
  int64_t guard() const { return guarded_ ? kGuardBytes : 0; }
  int64_t zone(const Buffer& b) const { return b.image ? 0 : guard(); }
  Diags make_staging() const;
  Diags fill(const Buffer& b) const;
  // Positions include the guard zone.
  Diags copy_in(const Buffer& b, int64_t to, std::span<const std::byte> data) const;
  Diags copy_out(const Buffer& b, int64_t from, std::span<std::byte> data) const;
  // Copies whole rows of an image, as many at a time as fit into the staging buffer. `move` fills
  // the staging buffer before each copy, or empties it after.
  Diags move_rows(const Image& image, int64_t offset, int64_t bytes, bool into_image,
                  const std::function<void(int64_t done, size_t part)>& move) const;
  void note(const Diags& faults) const { lost_.insert(lost_.end(), faults.begin(), faults.end()); }

  const Session& session_;
  bool guarded_;
  std::vector<Buffer> all_;
  mutable Buffer staging_;  // made on first use
  mutable Diags lost_;      // failed reads and writes, which the next run reports
};

}  // namespace assay::runtime::vulkan
