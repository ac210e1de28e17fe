// Storage by lifetimes: best fit, largest first (greedy by size, Pisarchyk and Lee, 2020).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace assay {

// The begin of the smallest gap between ranges [begin, end) that holds `bytes`, or the end of all.
int64_t best_gap(std::vector<std::pair<int64_t, int64_t>> taken, int64_t bytes);

struct Lived {
  int first = 0, last = 0;  // the first and the last time at which it is used
  int64_t bytes = 0;
};

struct Fitted {
  std::vector<int64_t> offsets;  // multiples of the alignment, by position
  int64_t bytes = 0;             // of all
};

// Arrays whose times overlap share no byte.
Fitted fit_lifetimes(std::span<const Lived> arrays, int64_t alignment);

}  // namespace assay
