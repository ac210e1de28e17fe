#include "runtime/opencl/buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace assay::runtime::opencl {

Result<Buffer> make_buffer(const Session& session, int64_t bytes, int64_t guard) {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1) + 2 * guard);
  const auto out_of_memory = [&](const std::string& why) {
    return error(
        fmt::format("out of memory: {} bytes for one buffer of {}: {}", bytes, session.id, why),
        "a smaller model or batch, or a device with more memory");
  };
  if (size > session.limits.buffer_bytes)
    return out_of_memory(fmt::format("it allows {}", session.limits.buffer_bytes));
  Buffer b;
  b.bytes = bytes;
  const auto fill = [&](std::span<std::byte> all) {
    std::fill(all.begin(), all.end(), std::byte{0});
    std::fill_n(all.begin(), guard, std::byte{0xFF});
    std::fill_n(all.end() - guard, guard, std::byte{0xFF});
  };
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  std::vector<std::byte> initial;
  if (session.limits.shares_memory) {
    auto pages = Memory::allocate(static_cast<int64_t>(size), false);
    if (!pages) return pages.diags();
    b.pages = std::move(pages).value();
    fill(b.pages.bytes());
    flags |= CL_MEM_USE_HOST_PTR;
  } else {
    initial.resize(size);
    fill(initial);
    flags |= CL_MEM_COPY_HOST_PTR;
  }
  cl_int status = CL_SUCCESS;
  void* start = initial.empty() ? b.pages.bytes().data() : initial.data();
  b.memory = {session.api.clCreateBuffer(session.context.get(), flags, size, start, &status),
              session.api.clReleaseMemObject};
  if (status != CL_SUCCESS) return out_of_memory(name_of(status));
  return b;
}

// Copies whole rows of an image, from or to the host.
cl_int move_rows(const Session& session, const Buffer& image, int64_t offset, int64_t bytes,
                 void* to, const void* from) {
  const int64_t row = image.image->row_bytes();
  ASSAY_CHECK(offset % row == 0 && bytes % row == 0 && offset >= 0 &&
              offset + bytes <= image.bytes);
  const size_t origin[] = {0, static_cast<size_t>(offset / row), 0};
  const size_t region[] = {static_cast<size_t>(image.image->width),
                           static_cast<size_t>(bytes / row), 1};
  if (from != nullptr)
    return session.api.clEnqueueWriteImage(session.queue.get(), image.memory.get(), CL_TRUE, origin,
                                           region, 0, 0, from, 0, nullptr, nullptr);
  return session.api.clEnqueueReadImage(session.queue.get(), image.memory.get(), CL_TRUE, origin,
                                        region, 0, 0, to, 0, nullptr, nullptr);
}

// 0: unsupported.
cl_channel_type channel_of(const ImageShape& shape) {
  const bool numbers = shape.dtype == ir::DType::f32;
  switch (shape.stored) {
    case Stored::f16:
      return numbers ? CL_HALF_FLOAT : 0;
    case Stored::unorm8:
      return numbers ? CL_UNORM_INT8 : 0;
    case Stored::as_type:
      break;
  }
  return numbers ? CL_FLOAT : shape.dtype == ir::DType::i32 ? CL_SIGNED_INT32 : 0;
}

// A driver may create images of formats that its kernels can not read.
bool is_supported(const Session& session, const cl_image_format& format) {
  cl_uint count = 0;
  const auto list = [&](cl_uint room, cl_image_format* to) {
    return session.api.clGetSupportedImageFormats(session.context.get(), CL_MEM_READ_ONLY,
                                                  CL_MEM_OBJECT_IMAGE2D, room, to,
                                                  &count) == CL_SUCCESS;
  };
  if (!list(0, nullptr)) return false;
  std::vector<cl_image_format> all(count);
  return list(count, all.data()) &&
         std::any_of(all.begin(), all.end(), [&](const cl_image_format& f) {
           return f.image_channel_order == format.image_channel_order &&
                  f.image_channel_data_type == format.image_channel_data_type;
         });
}

Diags upload(const Session& session, Buffer& buffer, const void* data, size_t bytes) {
  if (static_cast<int64_t>(bytes) > buffer.bytes) {
    auto larger = make_buffer(session, static_cast<int64_t>(2 * bytes), 0);
    if (!larger) return larger.diags();
    buffer = std::move(larger).value();
  }
  const cl_int status = session.api.clEnqueueWriteBuffer(
      session.queue.get(), buffer.memory.get(), CL_TRUE, 0, bytes, data, 0, nullptr, nullptr);
  return status == CL_SUCCESS ? Diags{} : Diags{failure("clEnqueueWriteBuffer", status)};
}

Result<Buffer> make_image(const Session& session, const ImageShape& shape) {
  const cl_channel_order order = shape.texel == 1 ? CL_R : shape.texel == 2 ? CL_RG : CL_RGBA;
  const cl_image_format format{order, channel_of(shape)};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = static_cast<size_t>(shape.width);
  desc.image_height = static_cast<size_t>(shape.height);
  Buffer b;
  b.image = shape;
  b.bytes = shape.bytes();
  const auto refused = [&](const std::string& why) {
    return error(fmt::format("{} makes no image of {} x {} texels {}: {}", session.id, shape.width,
                             shape.height, format_name(shape), why));
  };
  if (format.image_channel_data_type == 0) return refused("there is no such format");
  // PoCL lists formats of fewer halves per texel, but reads them wrongly.
  if (shape.stored != Stored::as_type && shape.texel != 4)
    return refused("drivers support these numbers reliably in texels of four only");
  if (!is_supported(session, format)) return refused("the driver does not list this format");
  if (desc.image_width >
          number_of<size_t>(session.api, session.place.device, CL_DEVICE_IMAGE2D_MAX_WIDTH) ||
      desc.image_height >
          number_of<size_t>(session.api, session.place.device, CL_DEVICE_IMAGE2D_MAX_HEIGHT) ||
      static_cast<size_t>(b.bytes) > session.limits.buffer_bytes)
    return refused("it allows less");
  const std::vector<std::byte> zeros(static_cast<size_t>(b.bytes));
  cl_int status = CL_SUCCESS;
  b.memory = {
      session.api.clCreateImage(session.context.get(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                &format, &desc, const_cast<std::byte*>(zeros.data()), &status),
      session.api.clReleaseMemObject};
  if (status != CL_SUCCESS) return refused(name_of(status));
  return b;
}

Result<int> Buffers::allocate_image(const ImageShape& shape) {
  ASSAY_CHECK(shape.width > 0 && shape.height > 0);
  auto image = make_image(session_, shape);
  if (!image) return image.diags();
  all_.push_back(std::move(image).value());
  return static_cast<int>(all_.size()) - 1;
}

Result<int> Buffers::allocate(int64_t bytes) {
  ASSAY_CHECK(bytes >= 0);
  auto buffer = make_buffer(session_, bytes, guard());
  if (!buffer) return buffer.diags();
  all_.push_back(std::move(buffer).value());
  return static_cast<int>(all_.size()) - 1;
}

void Buffers::write(BufferRange to, std::span<const std::byte> data) {
  if (data.empty()) return;
  const Buffer& b = at(to.buffer);
  ASSAY_CHECK(to.offset >= 0 && to.offset + static_cast<int64_t>(data.size()) <= b.bytes);
  if (b.image) {
    if (const cl_int s = move_rows(session_, b, to.offset, static_cast<int64_t>(data.size()),
                                   nullptr, data.data());
        s != CL_SUCCESS)
      lost_.push_back(failure("clEnqueueWriteImage", s));
    return;
  }
  const cl_int status = session_.api.clEnqueueWriteBuffer(
      session_.queue.get(), b.memory.get(), CL_TRUE, static_cast<size_t>(to.offset + guard()),
      data.size(), data.data(), 0, nullptr, nullptr);
  if (status != CL_SUCCESS) lost_.push_back(failure("clEnqueueWriteBuffer", status));
}

void Buffers::write_words(int buffer, std::span<const Word> words) {
  const Buffer& b = at(buffer);
  const Api& api = session_.api;
  cl_int status = CL_SUCCESS;
  auto* bytes = static_cast<std::byte*>(api.clEnqueueMapBuffer(
      session_.queue.get(), b.memory.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
      static_cast<size_t>(guard()), static_cast<size_t>(b.bytes), 0, nullptr, nullptr, &status));
  if (status != CL_SUCCESS) return lost_.push_back(failure("clEnqueueMapBuffer", status));
  for (const Word& w : words) {
    ASSAY_CHECK(w.offset >= 0 && w.offset + static_cast<int64_t>(sizeof w.value) <= b.bytes);
    std::memcpy(bytes + w.offset, &w.value, sizeof w.value);
  }
  status =
      api.clEnqueueUnmapMemObject(session_.queue.get(), b.memory.get(), bytes, 0, nullptr, nullptr);
  if (status == CL_SUCCESS) status = api.clFinish(session_.queue.get());
  if (status != CL_SUCCESS) lost_.push_back(failure("clEnqueueUnmapMemObject", status));
}

void Buffers::read(BufferRange from, std::span<std::byte> data) const {
  if (data.empty()) return;
  const Buffer& b = at(from.buffer);
  ASSAY_CHECK(from.offset >= 0 && from.offset + static_cast<int64_t>(data.size()) <= b.bytes);
  const bool image = b.image.has_value();
  const cl_int status =
      image ? move_rows(session_, b, from.offset, static_cast<int64_t>(data.size()), data.data(),
                        nullptr)
            : session_.api.clEnqueueReadBuffer(session_.queue.get(), b.memory.get(), CL_TRUE,
                                               static_cast<size_t>(from.offset + guard()),
                                               data.size(), data.data(), 0, nullptr, nullptr);
  if (status == CL_SUCCESS) return;
  std::fill(data.begin(), data.end(), std::byte{0xFF});  // NaN: never a plausible value
  lost_.push_back(failure(image ? "clEnqueueReadImage" : "clEnqueueReadBuffer", status));
}

std::optional<double> Buffers::map(BufferRange range, int64_t bytes) {
  const Buffer& b = at(range.buffer);
  ASSAY_CHECK(range.offset >= 0 && range.offset + bytes <= b.bytes);
  const Api& api = session_.api;
  cl_int status = CL_SUCCESS;
  const auto start = std::chrono::steady_clock::now();
  void* here = api.clEnqueueMapBuffer(session_.queue.get(), b.memory.get(), CL_TRUE,
                                      CL_MAP_READ | CL_MAP_WRITE,
                                      static_cast<size_t>(range.offset + guard()),
                                      static_cast<size_t>(bytes), 0, nullptr, nullptr, &status);
  if (status == CL_SUCCESS)
    status = api.clEnqueueUnmapMemObject(session_.queue.get(), b.memory.get(), here, 0, nullptr,
                                         nullptr);
  if (status == CL_SUCCESS) status = api.clFinish(session_.queue.get());
  if (status == CL_SUCCESS)
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  lost_.push_back(failure("clEnqueueMapBuffer", status));
  return std::nullopt;
}

int64_t Buffers::address_of(BufferRange r) const {
  const Buffer& b = at(r.buffer);
  ASSAY_CHECK(session_.limits.shares_memory);
  return reinterpret_cast<int64_t>(b.pages.bytes().data()) + offset_of(r);
}

Diags Buffers::check_guards() const {
  Diags damage;
  std::vector<std::byte> zone(static_cast<size_t>(guard()));
  for (size_t i = 0; guarded_ && i < all_.size(); ++i) {
    if (all_[i].image) continue;  // kernels do not write to images
    for (const int64_t at : {int64_t{0}, guard() + std::max<int64_t>(1, all_[i].bytes)}) {
      const cl_int status = session_.api.clEnqueueReadBuffer(
          session_.queue.get(), all_[i].memory.get(), CL_TRUE, static_cast<size_t>(at), zone.size(),
          zone.data(), 0, nullptr, nullptr);
      if (status != CL_SUCCESS)
        damage.push_back(failure("clEnqueueReadBuffer", status));
      else if (std::any_of(zone.begin(), zone.end(),
                           [](std::byte b) { return b != std::byte{0xFF}; }))
        damage.push_back(error(fmt::format("a kernel wrote outside buffer {}", i)));
    }
  }
  return damage;
}

}  // namespace assay::runtime::opencl
