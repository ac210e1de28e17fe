// The C++ compiler that builds kernels: $CXX, else c++, g++, clang++ on PATH.
//
// Flags, and why:
//   -march=native -mprefer-vector-width=512
//       clang splits 512-bit vectors without the latter.
//   -ffp-contract=fast -fno-math-errno -fno-trapping-math
//       Fused multiply-add; no errno, no traps.
//   -fno-tree-vectorize -fno-tree-loop-distribute-patterns
//       No loop is vectorised or becomes a call of memcpy, so that counted operations are executed.
//   -fno-tree-loop-distribution -fno-loop-interchange -fno-tree-bit-ccp
//       Passes that find nothing in unrolled kernels of constant extents, and take a third of the
//       compiler's time: the machine code is the same.
//   -fno-predictive-commoning
//       It keeps what one step of a loop loaded for the next one, in registers that accumulators
//       need: a depthwise convolution of 5 x 5 took twice as long.
//   -fstack-usage
//       The report's stack_bytes.
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
  // Everything besides the source and the processor that determines the binary.
  std::string identity(const std::string& optimization) const;
};

// Errors: none of the names is found, with a hint what to install; $CXX is set but does not run.
Result<Compiler> find_compiler();

}  // namespace assay::runtime::cpu
