// Images that kernels read without a sampler. They are in device memory in the device's own layout,
// and are copied in whole rows through host-visible memory.
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

// Uninitialised, in the layout for kernels. Errors: unsupported texels; larger than the device
// allows; out of memory.
Result<Image> make_image(const Session& session, const ImageShape& shape);

// Copies rows from a buffer into an image, or back. The image is in the layout for kernels before
// and after.
void copy_rows(const Api& api, VkCommandBuffer commands, VkBuffer buffer, const Image& image,
               int64_t first, int64_t rows, bool into_image);

}  // namespace assay::runtime::vulkan
