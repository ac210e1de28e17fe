// A schedule as the table that a kernel reads which runs it (the dialects' `queues`), and its
// stamps as slices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/device.h"

namespace assay::runtime {

// `words`: per unit the place of its rows, and the place behind the last one's; what a launch
// needs, per launch; then rows of four:
//   run     0, place of the launch, first group, end.
//   signal  1, counter, counter of the unit's own groups or -1.
//   wait    2, counter, value, how much a pass adds to the counter.
// Where several groups stay on a unit, each has to go through all of its rows. A signal counts when
// the last of them has come to it: they count themselves first. Between two runs they wait for each
// other, since the second may read what the first wrote, unless a wait between them shows it.
struct QueueTable {
  std::vector<int64_t> words;
  // Per unit and row: the position of its command; -1: it is of none.
  std::vector<std::vector<int>> commands;
  int64_t counters = 0;
  size_t most_rows = 0;  // of a unit
};

inline constexpr size_t kCounterStride = 16;  // words: each counter has a line of its own

struct QueueForm {
  int resident = 1;      // groups that stay on each unit
  bool repeats = false;  // the rows are for several passes, with a barrier behind each
};

// `launches`: the words of each launch. Pre: check_schedule() finds no error.
QueueTable queue_table(std::span<const ir::Command> schedule,
                       std::span<const std::vector<int64_t>> launches, const QueueForm& form);

// Appends the slices of one unit in one pass, rows of a command as one. `stamps`: when the unit
// began, and when each row was over, in ticks of 1 / `ticks` s; `begin`: when the pass began.
void add_slices(std::vector<Slice>& out, int unit, std::span<const int> commands,
                std::span<const uint64_t> stamps, uint64_t begin, double ticks);

}  // namespace assay::runtime
