// TLBs: what a miss costs, how many entries there are, and what an overlapped miss costs.
//
// A random chase through one line per page misses the first TLB once it has more nodes than that
// has entries. This is a knee of its latency, less the latency of as many contiguous lines. The
// second TLB has sets, chosen by bits or by an undocumented hash. How many rows of a matrix it
// holds depends on the length of a row, by a factor of two and more. Its entries are a range, from
// chases through rows of several lengths: from where a tenth of them misses on average to where
// nine tenths do. Pages at a stride of eight conflict in so few of its sets that all of them miss.
// That shows the cost of a miss.
#pragma once

#include <array>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/kernels/pages.h"
#include "probe/observation.h"

namespace assay::probe {

// Bytes of a row: one to six pages, a few lines more or less.
inline constexpr std::array<int64_t, 8> kRowStrides = {
    4096 + 64, 8192 - 128, 8192 + 64, 8192 + 384, 12288 + 64, 16384 - 64, 16384 + 128, 24576 - 192};
inline constexpr int64_t kFewestPages = 16, kFewestRows = 724;
inline constexpr int64_t kConflictStride = 8 * kPage;
inline constexpr std::array<int64_t, 2> kConflictPages = {1024, 1448};  // at that stride
// Pages of overlapped misses: more than any first, and any second, TLB holds.
inline constexpr std::array<int64_t, 2> kOverlapPages = {512, 8192};

void add_tlb(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
