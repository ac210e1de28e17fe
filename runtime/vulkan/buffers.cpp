#include "runtime/vulkan/buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace assay::runtime::vulkan {
namespace {

constexpr int64_t kStagingBytes = int64_t{4} << 20;
constexpr int64_t kWord = 4;
constexpr int64_t kConstantRow = 16;  // bytes

VkDeviceSize size_of(int64_t bytes) { return static_cast<VkDeviceSize>(bytes); }
int64_t whole_words(int64_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }
int64_t whole_rows(int64_t bytes) {
  return (bytes + kConstantRow - 1) / kConstantRow * kConstantRow;
}

}  // namespace

Result<Buffer> make_buffer(const Session& session, int64_t bytes, int64_t guard, Place place) {
  const Api& api = session.api();
  Buffer b;
  b.bytes = bytes;
  b.size = std::max(whole_words(std::max(bytes, kWord)) + 2 * guard, whole_rows(bytes));
  const auto out_of_memory = [&](const std::string& why) {
    return error(
        fmt::format("out of memory: {} bytes for one buffer of {}: {}", bytes, session.id(), why),
        "a smaller model or batch, or a device with more memory");
  };
  if (b.size > session.limits().buffer_bytes)
    return out_of_memory(fmt::format("it allows {}", session.limits().buffer_bytes));
  auto wanted = made<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  wanted.size = size_of(b.size);
  wanted.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkBuffer handle = VK_NULL_HANDLE;
  if (const VkResult s = api.vkCreateBuffer(session.device(), &wanted, nullptr, &handle))
    return out_of_memory(name_of(s));
  b.handle = {session.device(), handle, api.vkDestroyBuffer};
  VkMemoryRequirements needs{};
  api.vkGetBufferMemoryRequirements(session.device(), handle, &needs);
  const int type = session.memory_type(needs.memoryTypeBits, place);
  if (type < 0)
    return error(fmt::format("{} has no memory for buffers that {} can access", session.id(),
                             place == Place::host ? "the host" : "it"));
  const VkMemoryAllocateInfo room{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size,
                                  static_cast<uint32_t>(type)};
  VkDeviceMemory memory = VK_NULL_HANDLE;
  if (const VkResult s = api.vkAllocateMemory(session.device(), &room, nullptr, &memory))
    return out_of_memory(name_of(s));
  b.memory = {session.device(), memory, api.vkFreeMemory};
  if (const VkResult s = api.vkBindBufferMemory(session.device(), handle, memory, 0))
    return out_of_memory(name_of(s));
  if (place == Place::device) return b;
  void* mapped = nullptr;
  if (const VkResult s = api.vkMapMemory(session.device(), memory, 0, VK_WHOLE_SIZE, 0, &mapped))
    return failure("vkMapMemory", s);
  b.mapped = static_cast<std::byte*>(mapped);
  return b;
}

Diags Buffers::make_staging() const {
  if (staging_.mapped != nullptr) return {};
  auto made = make_buffer(session_, kStagingBytes, 0, Place::host);
  if (!made) return made.diags();
  staging_ = std::move(made).value();
  return {};
}

// Zeros, with guard zones of ones.
Diags Buffers::fill(const Buffer& b) const {
  if (b.mapped != nullptr) {
    std::memset(b.mapped, 0xFF, static_cast<size_t>(b.size));
    std::memset(b.mapped + guard(), 0, static_cast<size_t>(b.size - 2 * guard()));
    return {};
  }
  const Api& api = session_.api();
  return session_.run([&](VkCommandBuffer commands) {
    api.vkCmdFillBuffer(commands, b.handle.get(), size_of(guard()), size_of(b.size - 2 * guard()),
                        0);
    for (const int64_t zone : {int64_t{0}, b.size - guard()})
      if (guarded_)
        api.vkCmdFillBuffer(commands, b.handle.get(), size_of(zone), size_of(guard()), UINT32_MAX);
  });
}

Result<int> Buffers::allocate(int64_t bytes) {
  ASSAY_CHECK(bytes >= 0);
  auto buffer = make_buffer(session_, bytes, guard(),
                            session_.limits().shares_memory ? Place::host : Place::device);
  if (!buffer) return buffer.diags();
  const Diags faults = fill(*buffer);
  if (has_error(faults)) return faults;
  all_.push_back(std::move(buffer).value());
  return static_cast<int>(all_.size()) - 1;
}

Result<int> Buffers::allocate_image(const ImageShape& shape) {
  ASSAY_CHECK(shape.width > 0 && shape.height > 0);
  auto image = make_image(session_, shape);
  if (!image) return image.diags();
  Buffer b;
  b.bytes = shape.bytes();
  b.image = std::move(image).value();
  const std::vector<std::byte> zeros(static_cast<size_t>(b.bytes));
  if (Diags faults = copy_in(b, 0, zeros); has_error(faults)) return faults;
  all_.push_back(std::move(b));
  return static_cast<int>(all_.size()) - 1;
}

Diags Buffers::move_rows(const Image& image, int64_t offset, int64_t bytes, bool into_image,
                         const std::function<void(int64_t, size_t)>& move) const {
  const int64_t row = image.shape.row_bytes(), most = kStagingBytes / row;
  ASSAY_CHECK(offset % row == 0 && bytes % row == 0 && most > 0);
  if (Diags faults = make_staging(); has_error(faults)) return faults;
  for (int64_t first = 0; first < bytes / row; first += most) {
    const int64_t rows = std::min(most, bytes / row - first);
    if (into_image) move(first * row, static_cast<size_t>(rows * row));
    if (Diags faults = session_.run([&](VkCommandBuffer c) {
          copy_rows(session_.api(), c, staging_.handle.get(), image, offset / row + first, rows,
                    into_image);
        });
        has_error(faults))
      return faults;
    if (!into_image) move(first * row, static_cast<size_t>(rows * row));
  }
  return {};
}

Diags Buffers::copy_in(const Buffer& b, int64_t to, std::span<const std::byte> data) const {
  if (b.image)
    return move_rows(
        *b.image, to, static_cast<int64_t>(data.size()), true,
        [&](int64_t done, size_t part) { std::memcpy(staging_.mapped, data.data() + done, part); });
  if (b.mapped != nullptr) {
    std::memcpy(b.mapped + to, data.data(), data.size());
    return {};
  }
  if (Diags faults = make_staging(); has_error(faults)) return faults;
  for (size_t done = 0; done < data.size();) {
    const size_t part = std::min(data.size() - done, static_cast<size_t>(kStagingBytes));
    std::memcpy(staging_.mapped, data.data() + done, part);
    const VkBufferCopy piece{0, size_of(to) + done, part};
    if (Diags faults = session_.run([&](VkCommandBuffer c) {
          session_.api().vkCmdCopyBuffer(c, staging_.handle.get(), b.handle.get(), 1, &piece);
        });
        has_error(faults))
      return faults;
    done += part;
  }
  return {};
}

Diags Buffers::copy_out(const Buffer& b, int64_t from, std::span<std::byte> data) const {
  if (b.image)
    return move_rows(
        *b.image, from, static_cast<int64_t>(data.size()), false,
        [&](int64_t done, size_t part) { std::memcpy(data.data() + done, staging_.mapped, part); });
  if (b.mapped != nullptr) {
    std::memcpy(data.data(), b.mapped + from, data.size());
    return {};
  }
  if (Diags faults = make_staging(); has_error(faults)) return faults;
  for (size_t done = 0; done < data.size();) {
    const size_t part = std::min(data.size() - done, static_cast<size_t>(kStagingBytes));
    const VkBufferCopy piece{size_of(from) + done, 0, part};
    if (Diags faults = session_.run([&](VkCommandBuffer c) {
          session_.api().vkCmdCopyBuffer(c, b.handle.get(), staging_.handle.get(), 1, &piece);
        });
        has_error(faults))
      return faults;
    std::memcpy(data.data() + done, staging_.mapped, part);
    done += part;
  }
  return {};
}

void Buffers::write(BufferRange to, std::span<const std::byte> data) {
  if (data.empty()) return;
  const Buffer& b = at(to.buffer);
  ASSAY_CHECK(to.offset >= 0 && to.offset + static_cast<int64_t>(data.size()) <= b.bytes);
  note(copy_in(b, to.offset + zone(b), data));
}

void Buffers::write_words(int buffer, std::span<const Word> words) {
  const Buffer& b = at(buffer);
  ASSAY_CHECK(!b.image);
  std::vector<std::byte> all;
  if (b.mapped == nullptr) {
    all.resize(static_cast<size_t>(b.bytes));
    note(copy_out(b, guard(), all));
  }
  std::byte* bytes = b.mapped != nullptr ? b.mapped + guard() : all.data();
  for (const Word& w : words) {
    ASSAY_CHECK(w.offset >= 0 && w.offset + static_cast<int64_t>(sizeof w.value) <= b.bytes);
    std::memcpy(bytes + w.offset, &w.value, sizeof w.value);
  }
  if (b.mapped == nullptr) note(copy_in(b, guard(), all));
}

void Buffers::read(BufferRange from, std::span<std::byte> data) const {
  if (data.empty()) return;
  const Buffer& b = at(from.buffer);
  ASSAY_CHECK(from.offset >= 0 && from.offset + static_cast<int64_t>(data.size()) <= b.bytes);
  const Diags faults = lost_.empty() ? copy_out(b, from.offset + zone(b), data) : lost_;
  if (faults.empty()) return;
  std::fill(data.begin(), data.end(), std::byte{0xFF});  // NaN: never a plausible value
  if (lost_.empty()) note(faults);
}

// Binds the guard zone after the buffer too, so that writes there are detected.
Buffers::Binding Buffers::bind(BufferRange range) const {
  const Buffer& b = at(range.buffer);
  const Limits& limits = session_.limits();
  const int64_t begin = range.offset + guard(), first = begin / limits.alignment * limits.alignment;
  const int64_t end = std::min(b.size, first + limits.range_bytes);
  return {{b.handle.get(), size_of(first), size_of(end - first)}, begin - first};
}

VkDescriptorBufferInfo Buffers::bind_constants(BufferRange range, int64_t bytes) const {
  const Buffer& b = at(range.buffer);
  const int64_t begin = range.offset + guard();
  ASSAY_CHECK(begin % session_.limits().constant_alignment == 0);
  return {b.handle.get(), size_of(begin), size_of(whole_rows(bytes))};
}

Diags Buffers::check_guards() const {
  Diags damage;
  std::vector<std::byte> zone(static_cast<size_t>(guard()));
  for (size_t i = 0; guarded_ && i < all_.size(); ++i) {
    if (all_[i].image) continue;  // no kernel writes to one
    for (const int64_t at : {int64_t{0}, all_[i].size - guard()}) {
      const Diags faults = copy_out(all_[i], at, zone);
      damage.insert(damage.end(), faults.begin(), faults.end());
      if (faults.empty() &&
          std::any_of(zone.begin(), zone.end(), [](std::byte b) { return b != std::byte{0xFF}; }))
        damage.push_back(error(fmt::format("a kernel wrote outside buffer {}", i)));
    }
  }
  return damage;
}

}  // namespace assay::runtime::vulkan
