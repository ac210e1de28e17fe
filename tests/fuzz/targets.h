// What is fed with hostile bytes: each function reads the bytes as one kind of file and, where they
// are one, checks what must then hold. It aborts on a broken promise; complaints about the bytes
// are fine.
#pragma once

#include <span>
#include <string_view>

namespace assay::fuzz {

struct Target {
  std::string_view name;  // folder of corpus/, suffix of the fuzzer's executable
  void (*run)(std::string_view bytes);
};

std::span<const Target> targets();

}  // namespace assay::fuzz
