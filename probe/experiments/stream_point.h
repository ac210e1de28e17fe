// A way of reading or writing memory by several groups, as a job: what experiments on throughput of
// memory have in common.
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
  bool together = false;                    // all groups in the same bytes,
  bool around = false;                      // each from a place of its own on
  int other = -1;                           // the second buffer that is read
  int64_t window = 0;                       // blocks of `around` that a group reads; 0: all of them
  int64_t read_from = 0, written_from = 0;  // bytes behind the beginning of the buffer
};

bool copies(const std::string& access);
double streams(const std::string& access);  // bytes that pass, over those of one buffer
bool in_runs(const std::string& access);
bool reads(const std::string& access);

Conditions conditions_of(const StreamPoint& p);

// Passes over blocks; unit u has the u-th part of each buffer.
Job stream_job(const StreamPoint& p, int from, int to, double target_s);

// Passes over a few blocks each, of `around`.
Job window_job(const StreamPoint& p, int units, int from, double target_s);

// A chunk for each group per sample, side by side, from a block of the buffer on: what no cache
// holds. On simulated devices chunks are as small as the target allows.
Job far_job(const Bench& bench, const StreamPoint& p, int from, int to,
            const std::shared_ptr<Way>& way, int64_t first = 0);

}  // namespace assay::probe
