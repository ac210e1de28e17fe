// Buffers of translations (TLBs): what an access to a page pays whose entry is not at hand, how
// many entries there are, and what a miss takes of a core that does not wait for it.
//
// A random chase through one line per page misses the nearest buffer once it has more nodes than
// that has entries: a knee of its latency, less that of as many lines close together. The next
// buffer has sets, chosen by bits or by a hash that nobody documents: how many rows of a matrix it
// holds depends on the length of a row, by a factor of two and more. Its entries are a range:
// chases through rows of several lengths, from where a tenth of them misses on average to where
// nine tenths do. Pages eight apart crowd so few of its sets that all of them miss: that tells what
// a miss costs.
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
inline constexpr std::array<int64_t, 2> kCrowded = {1024, 1448};  // of them
inline constexpr std::array<int64_t, 2> kPassed = {
    512, 8192};  // pages that no first, and no second, buffer holds

void add_tlb(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
