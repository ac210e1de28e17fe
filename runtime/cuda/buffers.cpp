#include "runtime/cuda/buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace assay::runtime::cuda {

Result<int> Buffers::allocate(int64_t bytes) {
  ASSAY_CHECK(bytes >= 0);
  const Api& api = session_.api;
  Address address = 0;
  Status status = session_.enter();
  if (status == kSuccess)
    status = api.allocate(&address, static_cast<size_t>(std::max<int64_t>(bytes, 1) + 2 * guard()));
  if (status == kOutOfMemory)
    return error(fmt::format("out of memory: {} bytes for one buffer of {}: {}", bytes, session_.id,
                             name_of(api, status)),
                 "a smaller model or batch, or a device with more memory");
  if (status != kSuccess) return failure(api, "cuMemAlloc", status);
  Buffer b{{address, api.free}, bytes};
  if (const Status s = fill(b)) return failure(api, "cuMemsetD8Async", s);
  all_.push_back(std::move(b));
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
  if (const Status s = write_to(b, 0, zeros)) return failure(session_.api, "cuMemcpy2DAsync", s);
  all_.push_back(std::move(b));
  return static_cast<int>(all_.size()) - 1;
}

Status Buffers::fill(const Buffer& b) const {
  const auto set = [&](Address to, unsigned char value, int64_t bytes) {
    return bytes == 0 ? kSuccess
                      : session_.api.set_bytes(to, value, static_cast<size_t>(bytes),
                                               session_.stream.get());
  };
  const int64_t bytes = std::max<int64_t>(b.bytes, 1);
  if (const Status s = set(b.memory.get(), 0xFF, guard())) return s;
  if (const Status s = set(start(b), 0, bytes)) return s;
  return set(start(b) + static_cast<Address>(bytes), 0xFF, guard());
}

Status Buffers::copy_in(Address to, std::span<const std::byte> data) const {
  if (const Status s = session_.enter()) return s;
  if (const Status s = session_.api.copy_in(to, data.data(), data.size(), session_.stream.get()))
    return s;
  return session_.api.synchronize(session_.stream.get());
}

Status Buffers::copy_out(Address from, std::span<std::byte> data) const {
  if (const Status s = session_.enter()) return s;
  if (const Status s = session_.api.copy_out(data.data(), from, data.size(), session_.stream.get()))
    return s;
  return session_.api.synchronize(session_.stream.get());
}

Status Buffers::write_to(const Buffer& b, int64_t offset, std::span<const std::byte> data) const {
  if (!b.image) return copy_in(start(b) + static_cast<Address>(offset), data);
  if (const Status s = session_.enter()) return s;
  if (const Status s =
          copy_rows_in(session_, *b.image, offset, data.data(), static_cast<int64_t>(data.size())))
    return s;
  return session_.api.synchronize(session_.stream.get());
}

Status Buffers::read_of(const Buffer& b, int64_t offset, std::span<std::byte> data) const {
  if (!b.image) return copy_out(start(b) + static_cast<Address>(offset), data);
  if (const Status s = session_.enter()) return s;
  if (const Status s =
          copy_rows_out(session_, *b.image, offset, data.data(), static_cast<int64_t>(data.size())))
    return s;
  return session_.api.synchronize(session_.stream.get());
}

void Buffers::write(BufferRange to, std::span<const std::byte> data) {
  if (data.empty()) return;
  ASSAY_CHECK(to.offset >= 0 &&
              to.offset + static_cast<int64_t>(data.size()) <= at(to.buffer).bytes);
  if (const Status s = write_to(at(to.buffer), to.offset, data))
    lost_.push_back(failure(session_.api, "cuMemcpyHtoDAsync", s));
}

namespace {

// Each thread stores one word of 8 bytes at its offset.
constexpr const char* kScatterCode = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry scatter(.param .u64 p_to, .param .u64 p_words, .param .u64 p_count)
{
  .reg .pred %past;
  .reg .b32 %group, %threads, %thread;
  .reg .b64 %to, %words, %count, %i, %offset, %value, %wide;
  ld.param.u64 %to, [p_to];
  ld.param.u64 %words, [p_words];
  ld.param.u64 %count, [p_count];
  cvta.to.global.u64 %to, %to;
  cvta.to.global.u64 %words, %words;
  mov.u32 %group, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mul.wide.u32 %i, %group, %threads;
  cvt.u64.u32 %wide, %thread;
  add.u64 %i, %i, %wide;
  setp.ge.u64 %past, %i, %count;
  @%past ret;
  shl.b64 %wide, %i, 4;
  add.u64 %words, %words, %wide;
  ld.global.v2.u64 {%offset, %value}, [%words];
  add.u64 %to, %to, %offset;
  st.global.u64 [%to], %value;
  ret;
}
)";
constexpr int64_t kFewBytes = 1 << 20;  // smaller buffers are read and written whole
static_assert(sizeof(Word) == 16 && offsetof(Word, value) == 8);

}  // namespace

// False: the driver rejects the code or a call, so the host has to write the words.
bool Buffers::scatter(int buffer, std::span<const Word> words) {
  const Api& api = session_.api;
  if (bytes_of(buffer) < kFewBytes || no_scatter_ || session_.enter() != kSuccess) return false;
  if (scatter_ == nullptr) {
    Code code = nullptr;
    no_scatter_ = api.load_code(&code, kScatterCode) != kSuccess;
    if (no_scatter_) return false;
    scatter_code_ = {code, api.unload_code};
    no_scatter_ = api.get_function(&scatter_, code, "scatter") != kSuccess;
    if (no_scatter_) return false;
  }
  Address list = 0;
  if (api.allocate(&list, words.size_bytes()) != kSuccess) return false;
  const Owned<Address> owner(list, api.free);
  if (copy_in(list, std::as_bytes(words)) != kSuccess) return false;
  constexpr unsigned kThreads = 256;
  Address to = start(at(buffer));
  unsigned long long count = words.size();
  std::array<void*, 3> arguments{&to, &list, &count};
  const auto groups = static_cast<unsigned>((words.size() + kThreads - 1) / kThreads);
  if (api.launch(scatter_, groups, 1, 1, kThreads, 1, 1, 0, session_.stream.get(), arguments.data(),
                 nullptr) != kSuccess)
    return false;
  if (const Status s = api.synchronize(session_.stream.get()))
    lost_.push_back(failure(api, "writing words", s));
  return true;
}

void Buffers::write_words(int buffer, std::span<const Word> words) {
  for (const Word& w : words)
    ASSAY_CHECK(w.offset >= 0 &&
                w.offset + static_cast<int64_t>(sizeof w.value) <= bytes_of(buffer));
  if (words.empty() || scatter(buffer, words)) return;
  std::vector<std::byte> bytes(static_cast<size_t>(bytes_of(buffer)));
  if (bytes.empty()) return;
  read({buffer, 0}, bytes);
  for (const Word& w : words) std::memcpy(bytes.data() + w.offset, &w.value, sizeof w.value);
  write({buffer, 0}, bytes);
}

void Buffers::read(BufferRange from, std::span<std::byte> data) const {
  if (data.empty()) return;
  ASSAY_CHECK(from.offset >= 0 &&
              from.offset + static_cast<int64_t>(data.size()) <= at(from.buffer).bytes);
  const Status s = read_of(at(from.buffer), from.offset, data);
  if (s == kSuccess) return;
  std::fill(data.begin(), data.end(), std::byte{0xFF});  // NaN: never a plausible value
  lost_.push_back(failure(session_.api, "cuMemcpyDtoHAsync", s));
}

Diags Buffers::check_guards() const {
  Diags damage;
  std::vector<std::byte> zone(static_cast<size_t>(guard()));
  for (size_t i = 0; guarded_ && i < all_.size(); ++i) {
    if (all_[i].image) continue;  // no kernel writes to one
    for (const int64_t at : {int64_t{0}, guard() + std::max<int64_t>(1, all_[i].bytes)}) {
      if (const Status s = copy_out(all_[i].memory.get() + static_cast<Address>(at), zone))
        damage.push_back(failure(session_.api, "cuMemcpyDtoHAsync", s));
      else if (std::any_of(zone.begin(), zone.end(),
                           [](std::byte b) { return b != std::byte{0xFF}; }))
        damage.push_back(error(fmt::format("a kernel wrote outside buffer {}", i)));
    }
  }
  return damage;
}

}  // namespace assay::runtime::cuda
