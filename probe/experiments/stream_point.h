// One access pattern of several groups, as a job: what experiments on bandwidth share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "probe/sampling/passes.h"
#include "probe/sampling/session.h"

namespace assay::probe {

struct StreamPoint {
  std::string access;
  int lanes = 0, units = 1;                 // groups at a time
  int64_t bytes = 0;                        // per unit, of one buffer
  double level = 0;                         // position in the curve's levels
  bool together = false;                    // all groups read the same bytes,
  bool around = false;                      // each from a start of its own, cyclically
  int other = -1;                           // the second buffer that is read
  int64_t window = 0;                       // blocks of `around` that a group reads; 0: all of them
  int64_t read_from = 0, written_from = 0;  // byte offsets in the buffers
};

bool copies(const std::string& access);
double streams(const std::string& access);  // bytes transferred, over those of one buffer
bool in_short_runs(const std::string& access);
bool reads(const std::string& access);

Conditions conditions_of(const StreamPoint& p);

// Passes over blocks; unit u has the u-th part of each buffer.
Job stream_job(const StreamPoint& p, int from, int to, double target_s);

// Passes of `around` over a window of blocks each.
Job window_job(const StreamPoint& p, int units, int from, double target_s);

// A chunk for each group per sample, at successive places of the buffer, so that no cache holds it.
// On simulated devices chunks are as small as the target allows.
Job far_job(const Bench& bench, const StreamPoint& p, int from, int to,
            const std::shared_ptr<BlockCursor>& cursor, int64_t first = 0);

}  // namespace assay::probe
