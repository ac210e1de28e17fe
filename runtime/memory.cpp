#include "runtime/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace assay::runtime {
namespace {

constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;
constexpr std::byte kGuardByte{0xFF};

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

bool all_guard(const std::byte* from, const std::byte* to) {
  return std::all_of(from, to, [](std::byte b) { return b == kGuardByte; });
}

}  // namespace

Memory::~Memory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

void Memory::swap(Memory& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(guarded_, other.guarded_);
}

Result<Memory> Memory::allocate(int64_t bytes, bool guarded) {
  ASSAY_CHECK(bytes >= 0);
  constexpr auto kGuard = static_cast<size_t>(kGuardBytes);
  const auto size = static_cast<size_t>(bytes);
  const bool huge = size >= kHugePage;
  const size_t guards = guarded ? 2 * kGuard : 0;
  const size_t needed = round_up(size + guards + 1, huge ? kHugePage : kPage);
  const size_t mapped = needed + (huge ? kHugePage : 0);
  void* at = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return error(fmt::format("out of memory: {} bytes for one buffer", bytes));
  Memory m;
  m.mapping_ = static_cast<std::byte*>(at);
  m.mapped_ = mapped;
  const auto address = reinterpret_cast<uintptr_t>(at);
  std::byte* start = m.mapping_ + (huge ? round_up(address, kHugePage) - address : 0);
  if (huge) madvise(start, needed, MADV_HUGEPAGE);
  m.data_ = start + (guarded ? kGuard : 0);
  m.size_ = size;
  m.guarded_ = guarded;
  if (guarded) {
    std::memset(start, 0xFF, kGuard);
    std::memset(m.data_ + size, 0xFF, kGuard);
  }
  return m;
}

bool Memory::intact() const {
  if (!guarded_) return true;
  return all_guard(data_ - kGuardBytes, data_) &&
         all_guard(data_ + size_, data_ + size_ + kGuardBytes);
}

}  // namespace assay::runtime
