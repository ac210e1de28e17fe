// Factors of a chip's rates and times, which measurements on it showed: a correction of a library's
// estimates. Few, and each named by what it multiplies.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "support/result.h"

namespace assay::compiler {

enum class Factor { multiply_adds, far_memory, shared_cache, latencies, launch };
inline constexpr std::array<std::string_view, 5> kFactorNames = {
    "multiply_adds", "far_memory", "shared_cache", "latencies", "launch"};

// Of rates: of multiply-adds on lanes and by matrix instructions, of far memory, of the caches that
// units share. Of times: all latencies, a launch.
using Factors = std::array<double, kFactorNames.size()>;
inline constexpr Factors kNoFactors = {1, 1, 1, 1, 1};

// The chip with these; the launch is not a machine's.
model::Machine scaled(model::Machine chip, const Factors& f);

struct KindFactors {      // of a class of operators
  std::string_view kind;  // product, rows, pointwise
  Factors factors = kNoFactors;
  double low = 1, high = 1;  // measured / estimated of rows that were held out: 90 % lie within
};

}  // namespace assay::compiler
