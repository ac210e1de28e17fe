#include "runtime/vulkan/image.h"

#include <fmt/format.h>

#include "runtime/vulkan/session.h"

namespace assay::runtime::vulkan {
namespace {

constexpr VkImageLayout kReadable = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
constexpr VkImageUsageFlags kUses =
    VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
constexpr VkImageSubresourceRange kWhole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};

struct Format {
  ir::DType dtype;
  Stored stored;
  VkFormat of_1, of_2, of_4;  // numbers
};
constexpr Format kFormats[] = {{ir::DType::f32, Stored::as_type, VK_FORMAT_R32_SFLOAT,
                                VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT},
                               {ir::DType::i32, Stored::as_type, VK_FORMAT_R32_SINT,
                                VK_FORMAT_R32G32_SINT, VK_FORMAT_R32G32B32A32_SINT},
                               {ir::DType::f32, Stored::f16, VK_FORMAT_R16_SFLOAT,
                                VK_FORMAT_R16G16_SFLOAT, VK_FORMAT_R16G16B16A16_SFLOAT},
                               {ir::DType::f32, Stored::unorm8, VK_FORMAT_R8_UNORM,
                                VK_FORMAT_R8G8_UNORM, VK_FORMAT_R8G8B8A8_UNORM}};

// VK_FORMAT_UNDEFINED: unsupported.
VkFormat format_of(const ImageShape& shape) {
  for (const Format& f : kFormats)
    if (f.dtype == shape.dtype && f.stored == shape.stored)
      return shape.texel == 1   ? f.of_1
             : shape.texel == 2 ? f.of_2
             : shape.texel == 4 ? f.of_4
                                : VK_FORMAT_UNDEFINED;
  return VK_FORMAT_UNDEFINED;
}

// Why the device does not support such an image; "" if it does.
std::string refusal(const Session& session, VkFormat format, const ImageShape& shape) {
  VkImageFormatProperties most{};
  if (format == VK_FORMAT_UNDEFINED) return "there is no such format";
  if (const VkResult s = session.api().vkGetPhysicalDeviceImageFormatProperties(
          session.physical(), format, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL, kUses, 0, &most))
    return name_of(s);
  const VkExtent3D& allowed = most.maxExtent;
  if (shape.width > int64_t{allowed.width} || shape.height > int64_t{allowed.height})
    return fmt::format("it allows {} x {}", allowed.width, allowed.height);
  return "";
}

struct Use {  // of an image during commands
  VkImageLayout layout;
  VkAccessFlags access;
  VkPipelineStageFlags stage;
};
constexpr Use kByKernels = {kReadable, VK_ACCESS_SHADER_READ_BIT,
                            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT};
constexpr Use kFilled = {VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_ACCESS_TRANSFER_WRITE_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT};
constexpr Use kCopied = {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_ACCESS_TRANSFER_READ_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT};
constexpr Use kNew = {VK_IMAGE_LAYOUT_UNDEFINED, 0, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT};

void change(const Api& api, VkCommandBuffer commands, VkImage image, const Use& from,
            const Use& to) {
  auto barrier = made<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
  barrier.srcAccessMask = from.access;
  barrier.dstAccessMask = to.access;
  barrier.oldLayout = from.layout;
  barrier.newLayout = to.layout;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = kWhole;
  api.vkCmdPipelineBarrier(commands, from.stage, to.stage, 0, 0, nullptr, 0, nullptr, 1, &barrier);
}

}  // namespace

Result<Image> make_image(const Session& session, const ImageShape& shape) {
  const Api& api = session.api();
  const auto refused = [&](const std::string& why) {
    return error(fmt::format("{} makes no image of {} x {} texels {}: {}", session.id(),
                             shape.width, shape.height, format_name(shape), why));
  };
  auto wanted = made<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
  wanted.imageType = VK_IMAGE_TYPE_2D;
  wanted.format = format_of(shape);
  if (const std::string why = refusal(session, wanted.format, shape); !why.empty())
    return refused(why);
  wanted.extent = {static_cast<uint32_t>(shape.width), static_cast<uint32_t>(shape.height), 1};
  wanted.mipLevels = wanted.arrayLayers = 1;
  wanted.samples = VK_SAMPLE_COUNT_1_BIT;
  wanted.tiling = VK_IMAGE_TILING_OPTIMAL;
  wanted.usage = kUses;
  Image image;
  image.shape = shape;
  VkImage handle = VK_NULL_HANDLE;
  if (const VkResult s = api.vkCreateImage(session.device(), &wanted, nullptr, &handle))
    return refused(name_of(s));
  image.handle = {session.device(), handle, api.vkDestroyImage};
  VkMemoryRequirements needs{};
  api.vkGetImageMemoryRequirements(session.device(), handle, &needs);
  const int type = session.memory_type(needs.memoryTypeBits, Place::device);
  if (type < 0) return refused("it has no memory for images");
  const VkMemoryAllocateInfo room{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size,
                                  static_cast<uint32_t>(type)};
  VkDeviceMemory memory = VK_NULL_HANDLE;
  if (const VkResult s = api.vkAllocateMemory(session.device(), &room, nullptr, &memory))
    return refused(name_of(s));
  image.memory = {session.device(), memory, api.vkFreeMemory};
  if (const VkResult s = api.vkBindImageMemory(session.device(), handle, memory, 0))
    return refused(name_of(s));
  auto seen = made<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
  seen.image = handle;
  seen.viewType = VK_IMAGE_VIEW_TYPE_2D;
  seen.format = wanted.format;
  seen.subresourceRange = kWhole;
  VkImageView view = VK_NULL_HANDLE;
  if (const VkResult s = api.vkCreateImageView(session.device(), &seen, nullptr, &view))
    return refused(name_of(s));
  image.view = {session.device(), view, api.vkDestroyImageView};
  if (Diags faults =
          session.run([&](VkCommandBuffer c) { change(api, c, handle, kNew, kByKernels); });
      has_error(faults))
    return faults;
  return image;
}

void copy_rows(const Api& api, VkCommandBuffer commands, VkBuffer buffer, const Image& image,
               int64_t first, int64_t rows, bool into_image) {
  const Use& use = into_image ? kFilled : kCopied;
  VkBufferImageCopy part{};
  part.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  part.imageOffset = {0, static_cast<int32_t>(first), 0};
  part.imageExtent = {static_cast<uint32_t>(image.shape.width), static_cast<uint32_t>(rows), 1};
  change(api, commands, image.handle.get(), kByKernels, use);
  if (into_image)
    api.vkCmdCopyBufferToImage(commands, buffer, image.handle.get(), use.layout, 1, &part);
  else
    api.vkCmdCopyImageToBuffer(commands, image.handle.get(), use.layout, buffer, 1, &part);
  change(api, commands, image.handle.get(), use, kByKernels);
}

}  // namespace assay::runtime::vulkan
