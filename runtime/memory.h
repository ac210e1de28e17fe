// Memory for buffers and scratch: whole zeroed pages from the system. From 2 MiB on it is aligned
// to 2 MiB and advised for huge pages, so that all buffers have the same page policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "support/result.h"

namespace assay::runtime {

inline constexpr int64_t kGuardBytes = 4096;

class Memory {  // invariant: owns one mapping (or none); the guard zones, if any, hold 0xFF when
                // intact
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory();

  // `guarded`: a guard zone of kGuardBytes on both sides, which reads as NaN. Errors: out of
  // memory.
  static Result<Memory> allocate(int64_t bytes, bool guarded);

  std::span<std::byte> bytes() const { return {data_, size_}; }
  bool intact() const;

 private:
  void swap(Memory& other) noexcept;

  std::byte* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool guarded_ = false;
};

}  // namespace assay::runtime
