// Passes of loads or stores over blocks of memory: their parameters, and one pass of one unit or of
// all.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "probe/kernels/code.h"
#include "probe/sampling/session.h"
#include "support/check.h"

namespace assay::probe {

inline constexpr int64_t kPlaces = kBlockBytes / kPlaceBytes;  // of a block

// Passes over blocks; group g begins `part` blocks behind the one before, the first one at `first`.
// `apart`: and a place further into its part, so that those who go in step do not meet in the same
// few sets of a cache.
std::vector<double> pass_parameters(int64_t passes, int64_t blocks, int64_t part, int64_t first,
                                    int groups, bool apart = false);

// A way through a buffer, over and over, that all who go it share: what one of them left in a
// cache, the others do not meet again before the whole buffer has passed. Each time it begins a
// block elsewhere: chunks that lie apart leave some sets of a cache to few lines, which would still
// be there. More than a block, and groups in step would begin with what they read last.
class Way {
 public:
  explicit Way(int64_t bytes) : blocks_(bytes / kBlockBytes) {}
  int64_t blocks() const { return blocks_; }
  int64_t next(int64_t blocks) {  // the first of so many, at most all
    ASSAY_CHECK(blocks <= blocks_);
    if (at_ + blocks > blocks_)
      at_ = std::max<int64_t>(0, std::min(++rounds_ % kRounds, blocks_ - blocks));
    return std::exchange(at_, at_ + blocks);
  }

 private:
  static constexpr int64_t kRounds = 64;  // until it begins there again
  int64_t blocks_, at_ = 0, rounds_ = 0;
};

// Times what caches hold: as much, read behind it, leaves nothing of what was there.
inline constexpr double kDrivesOut = 2.5;

// Several units with queues of their own. Simulated caches know nothing of each other.
inline bool has_others(const Session& s) {
  return !s.device.threads && !s.device.simulated && s.device.units > 1;
}

// One pass of one unit over the same blocks.
Job pass_of(const Session& s, int unit, const char* access, int buffer, int64_t blocks);

// One pass of every unit over its own blocks, side by side from the first one on.
Job pass_over(const Session& s, const char* access, int buffer, int64_t blocks, int64_t first = 0);

// Passes of one group over `rows` rows, a vector of each (pages_read, lines_read, sets_read,
// sets_write): loads and stores that nothing waits for.
Job vectors_of_rows(const Session& s, const char* access, int buffer, int64_t rows,
                    double target_s);

}  // namespace assay::probe
