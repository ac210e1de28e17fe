#include "runtime/cuda/image.h"

#include <fmt/format.h>

#include <optional>

namespace assay::runtime::cuda {
namespace {

std::optional<ArrayFormat> format_of(const ImageShape& shape) {
  if (shape.texel != 1 && shape.texel != 2 && shape.texel != 4) return std::nullopt;
  const bool numbers = shape.dtype == ir::DType::f32;
  if (shape.stored == Stored::f16 && numbers) return ArrayFormat::f16;
  if (shape.stored == Stored::unorm8 && numbers)
    return ArrayFormat::u8;  // read as numbers from 0 to 1, the default
  if (shape.stored != Stored::as_type || (!numbers && shape.dtype != ir::DType::i32))
    return std::nullopt;
  return numbers ? ArrayFormat::f32 : ArrayFormat::i32;
}

// A copy of rows, still without its two ends.
BlockCopy rows_of(const Image& image, int64_t offset, int64_t bytes) {
  const int64_t row = image.shape.row_bytes();
  ASSAY_CHECK(offset % row == 0 && bytes % row == 0);
  BlockCopy c{};
  c.from_pitch = c.to_pitch = c.width_bytes = static_cast<size_t>(row);
  c.height = static_cast<size_t>(bytes / row);
  return c;
}

}  // namespace

Result<Image> make_image(const Session& session, const ImageShape& shape) {
  const Api& api = session.api;
  const auto refused = [&](const std::string& why) {
    return error(fmt::format("{} makes no image of {} x {} texels {}: {}", session.id, shape.width,
                             shape.height, format_name(shape), why));
  };
  const auto format = format_of(shape);
  if (!format) return refused("there is no such format");
  if (const int64_t width = attribute_of(api, session.device, kImageWidth),
      height = attribute_of(api, session.device, kImageHeight);
      shape.width > width || shape.height > height)
    return refused(fmt::format("it allows {} x {}", width, height));
  if (const Status s = session.enter()) return failure(api, "cuCtxSetCurrent", s);
  Image image;
  image.shape = shape;
  const ArrayShape wanted{static_cast<size_t>(shape.width), static_cast<size_t>(shape.height),
                          *format, static_cast<unsigned>(shape.texel)};
  Array array = nullptr;
  if (const Status s = api.create_array(&array, &wanted)) return refused(name_of(api, s));
  image.array = {array, api.destroy_array};
  TextureSource source{};
  source.array = array;  // kind 0: an array
  TextureUse use{};
  use.outside[0] = use.outside[1] = use.outside[2] = kBorder;
  Texture texture = 0;
  if (const Status s = api.create_texture(&texture, &source, &use, nullptr))
    return refused(name_of(api, s));
  image.texture = {texture, api.destroy_texture};
  return image;
}

Status copy_rows_in(const Session& session, const Image& image, int64_t offset, const void* from,
                    int64_t bytes) {
  BlockCopy c = rows_of(image, offset, bytes);
  c.from_kind = kHostMemory;
  c.from_host = from;
  c.to_kind = kArrayMemory;
  c.to_array = image.array.get();
  c.to_y = static_cast<size_t>(offset / image.shape.row_bytes());
  return session.api.copy_block(&c, session.stream.get());
}

Status copy_rows_out(const Session& session, const Image& image, int64_t offset, void* to,
                     int64_t bytes) {
  BlockCopy c = rows_of(image, offset, bytes);
  c.from_kind = kArrayMemory;
  c.from_array = image.array.get();
  c.from_y = static_cast<size_t>(offset / image.shape.row_bytes());
  c.to_kind = kHostMemory;
  c.to_host = to;
  return session.api.copy_block(&c, session.stream.get());
}

}  // namespace assay::runtime::cuda
