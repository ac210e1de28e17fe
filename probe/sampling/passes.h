// Passes of loads or stores over blocks of memory: their parameters, and one pass of one unit or of
// all.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "probe/kernels/code.h"
#include "probe/sampling/cycle.h"
#include "probe/sampling/session.h"
#include "support/check.h"

namespace assay::probe {

inline constexpr int64_t kPlaces = kBlockBytes / kPlaceBytes;  // of a block

// Passes over blocks; group g begins `part` blocks after the one before, the first one at `first`.
// `staggered`: and a few places further, so that groups in step use different sets.
std::vector<double> pass_parameters(int64_t passes, int64_t blocks, int64_t part, int64_t first,
                                    int groups, bool staggered = false);

// Whether a neighbour comes and goes on a simulated processor.
bool has_neighbours(const runtime::DeviceInfo& device);

struct Fill {
  int unit = 0;
  Extent block;
};

// Caches what a chase is to visit, in its order, but each block by reads that do not wait for each
// other: a pass of the chase takes longer than a neighbour stays away.
void fill_caches(Session& s, int buffer, const std::vector<Fill>& blocks);

// A cursor that cycles through a buffer and is shared by several users: nobody finds another one's
// lines cached before the whole buffer was used. Each round begins one block later. Otherwise
// strided chunks would leave some sets with few lines, which would stay cached. With a larger
// offset, groups in step would begin with what they read last.
class BlockCursor {
 public:
  explicit BlockCursor(int64_t bytes) : blocks_(bytes / kBlockBytes) {}
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

// Times what caches hold: reading so much evicts everything.
inline constexpr double kEvictionFactor = 2.5;

// Several units with queues of their own. Simulated caches are not coherent.
inline bool has_peer_units(const Session& s) {
  return !s.device.threads && !s.device.simulated && s.device.units > 1;
}

// One pass of one unit over the same blocks.
Job unit_pass(const Session& s, int unit, const char* access, int buffer, int64_t blocks);

// One pass of every unit over blocks of its own, adjacent from the first one on.
Job all_units_pass(const Session& s, const char* access, int buffer, int64_t blocks,
                   int64_t first = 0);

// Passes of one group over `rows` rows, a vector of each (pages_read, lines_read, sets_read,
// sets_write): independent loads and stores.
Job vectors_of_rows(const Session& s, const char* access, int buffer, int64_t rows,
                    double target_s);

}  // namespace assay::probe
