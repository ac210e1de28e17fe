// Images that kernels read without a sampler: made near the device in an order of its own, moved in
// whole rows through memory that the host sees.
#pragma once

#include "runtime/device.h"
#include "runtime/vulkan/api.h"

namespace assay::runtime::vulkan {

class Session;

struct Image {
  Owned<VkDeviceMemory> memory;
  Owned<VkImage> handle;  // after its memory, so destroyed first
  Owned<VkImageView> view;
  ImageShape shape;
};

// Not filled, and readable by kernels. Errors: the device has no such texels, or allows less; out
// of memory.
Result<Image> make_image(const Session& session, const ImageShape& shape);

// So many rows from a buffer into an image, or back. The image is readable by kernels before and
// after.
void copy_rows(const Api& api, VkCommandBuffer commands, VkBuffer buffer, const Image& image,
               int64_t first, int64_t rows, bool into_image);

}  // namespace assay::runtime::vulkan
