// Fuzz targets. Each function reads bytes as one kind of file and checks the post-conditions where
// they are accepted. It aborts when one fails; errors about the bytes are fine.
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
