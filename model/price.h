// Seconds of a launch on a chip: arithmetic on counts, about a microsecond.
//
// A unit runs several groups at once, as many as its registers, scratchpad and limits hold. Their
// operations share its pipes, issue slots and memories; their waits pass side by side. Units share
// the caches behind them and far memory. What overlaps is joined by one p-norm.
// Sources: occupancy and waves as in the CUDA C++ Programming Guide; passes over rows as the
// capacity misses of what all resident groups hold; bytes of a wave of tiles as in AMD's Origami.
#pragma once

#include "model/estimate.h"
#include "model/launch_work.h"
#include "model/machine.h"

namespace assay::model {

// Where the inputs lie before the launch.
enum class Caches { cold, warm };

// Seconds in which each part of a unit is busy.
struct UnitParts {
  double multiply_adds = 0, other_operations = 0, issue = 0;
  double port = 0;  // of loads and stores, whatever they find
  double scratch = 0, near = 0;
  // Products and reads of the scratchpad are one pipeline, which takes the longer of both.
  bool reads_scratch = false;
};

// Seconds that a group waits for each kind, were it alone on its unit.
struct GroupWaits {
  double far = 0, rereads = 0, near = 0, shared = 0, scratch = 0, barriers = 0, multiply_adds = 0;
  double chain = 0;  // of dependent operations, beyond the slots that they fill
  double steps = 0;  // of a product's copies, beyond the steps that they are ahead
  double total() const {
    return far + rereads + near + shared + scratch + barriers + multiply_adds + chain + steps;
  }
};

struct LaunchPrice {
  double seconds = 0;    // without the launch itself
  double start = 0;      // before the first group loads data, and after the last store
  double occupancy = 1;  // groups at once on a unit
  double rounds = 1;
  // Seconds of each part, as if it were alone: of the busiest unit, or of the memory.
  UnitParts unit;
  double waits = 0;  // of the groups, one after the other
  double shared_cache = 0, far = 0;
  double far_read = 0, far_written = 0, shared_bytes = 0;  // bytes
  double power = 0;  // of the energy, at the power that the chip may draw

  // What these are made of. The busiest unit runs `full_rounds` of `occupancy` groups, then
  // `last_groups`.
  UnitParts group, alone;  // of one group: beside others, and with its unit for itself
  GroupWaits group_waits;
  double group_start = 0;
  double full_rounds = 0, last_groups = 0;
  double far_in = 0, far_out = 0;  // s
};

// Joins of such parts, s.
double joined(const UnitParts& p);
// A unit's round of `groups`: one after the other, but for the waits, which pass side by side.
double round_time(const LaunchPrice& p, double groups);

// Groups that run on a unit at once: limited by registers, scratchpad, waves and groups. 0: not one
// fits.
double groups_at_once(const LaunchWork& work, const Machine& m);

// Pre: work.groups > 0. Errors: none; a launch that does not fit (scratchpad, threads) is priced as
// infinite.
LaunchPrice price(const LaunchWork& work, const Machine& m, Caches caches = Caches::cold);

// The largest part's name: multiply-adds, issue, scratchpad, ..., far memory.
std::string bound_of(const LaunchPrice& p);

}  // namespace assay::model
