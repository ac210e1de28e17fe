// The C++ compiler that builds kernels: $CXX, else c++, g++, clang++ on PATH.
//
// Flags, and why:
//   -march=native -mprefer-vector-width=512   clang splits 512-bit vectors without the latter
//   -ffp-contract=fast -fno-math-errno -fno-trapping-math   fused multiply-add; no errno, no traps
//   -fno-tree-vectorize -fno-tree-loop-distribute-patterns  what is counted is what runs: no scalar
//   loop
//                                 becomes a vector one and no copy loop becomes a call of memcpy
//   -fstack-usage                 the report's stack_bytes
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/result.h"

namespace assay::runtime::cpu {

struct Compiler {
  std::string path;
  std::string version;  // first line of --version
  bool clang = false;

  std::vector<std::string> flags(const std::string& optimization) const;
  // Everything that decides what a source becomes, but for the processor.
  std::string identity(const std::string& optimization) const;
};

// Errors: none of the names is there, with a hint what to install; $CXX is set but does not run.
Result<Compiler> find_compiler();

}  // namespace assay::runtime::cpu
