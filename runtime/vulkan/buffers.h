// The buffers of a module: device memory that persists, in zones that show when a kernel wrote
// outside it. Where the device shares the host's memory they are mapped; else, and of images, what
// is written and read goes through a staging buffer.
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
  std::optional<Image> image;  // instead of all that: `bytes` are its rows
};

// Not filled. Errors: out of memory, or more than the device allows.
Result<Buffer> make_buffer(const Session& session, int64_t bytes, int64_t guard, Place place);

class Buffers {  // invariant: what went wrong in a call that returns nothing is in lost_
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

  // What a kernel is shown of a buffer, from the device's alignment on, and where in it the range
  // begins.
  struct Binding {
    VkDescriptorBufferInfo shown{};
    int64_t begin = 0;  // bytes
  };
  Binding bind(BufferRange range) const;
  // Of constants: whole rows of 16 bytes from there on, where the device lets them begin.
  VkDescriptorBufferInfo bind_constants(BufferRange range, int64_t bytes) const;

  Diags check_guards() const;
  Diags take_lost() { return std::exchange(lost_, {}); }

 private:
  const Buffer& at(int buffer) const { return all_.at(static_cast<size_t>(buffer)); }
  int64_t guard() const { return guarded_ ? kGuardBytes : 0; }
  int64_t zone(const Buffer& b) const { return b.image ? 0 : guard(); }
  Diags make_staging() const;
  Diags fill(const Buffer& b) const;
  // Positions are in the buffer with its zones.
  Diags copy_in(const Buffer& b, int64_t to, std::span<const std::byte> data) const;
  Diags copy_out(const Buffer& b, int64_t from, std::span<std::byte> data) const;
  // Whole rows of an image, as many as fit into the staging buffer at a time: `move` is called with
  // bytes to fill it with before they go, or to take from it when they have come.
  Diags move_rows(const Image& image, int64_t offset, int64_t bytes, bool into_image,
                  const std::function<void(int64_t done, size_t part)>& move) const;
  void note(const Diags& faults) const { lost_.insert(lost_.end(), faults.begin(), faults.end()); }

  const Session& session_;
  bool guarded_;
  std::vector<Buffer> all_;
  mutable Buffer staging_;  // made when it is first needed
  mutable Diags lost_;      // a read or write that failed: the next run reports it
};

}  // namespace assay::runtime::vulkan
