// Checked launches of a module, resolved to functions, pointers and group ranges per unit, and the
// loop that all units run over them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/cpu/library.h"
#include "runtime/cpu/pool.h"
#include "runtime/device.h"
#include "runtime/memory.h"
#include "support/result.h"

namespace assay::runtime::cpu {

struct LoadedKernel {
  ir::Kernel kernel;
  Entry entry = nullptr;
};

struct GroupRange {
  int64_t begin = 0, end = 0;
};

union Slot {
  Entry entry;
  void* pointer;
  int64_t number;
};

// What one unit does in a launch, in one piece: behind a long step it lies in far memory, and the
// next step waits for it once, not at every pointer from one part to the next.
class Row {
 public:
  explicit Row(const Slot* slots) : slots_(slots) {}
  Entry entry() const { return slots_[0].entry; }
  size_t ranges() const { return static_cast<size_t>(slots_[1].number); }
  GroupRange range(size_t i) const { return {slots_[2 + 2 * i].number, slots_[3 + 2 * i].number}; }
  void* const* arguments() const { return &slots_[2 + 2 * ranges()].pointer; }
  const void* address() const { return slots_; }

 private:
  const Slot* slots_;
};

// The rows of one unit, one behind the other in whole cache lines; at least one, which says
// nothing.
class Rows {
 public:
  Rows(size_t count, size_t slots)
      : lines_of_each_(std::max<size_t>(1, (slots + kSlotsOfLine - 1) / kSlotsOfLine)),
        lines_(std::max<size_t>(1, count) * lines_of_each_) {}
  Row operator[](size_t i) const { return Row(lines_[i * lines_of_each_].slots); }
  Slot* slots(size_t i) { return lines_[i * lines_of_each_].slots; }

 private:
  static constexpr size_t kSlotsOfLine = 8;
  struct alignas(kSlotsOfLine * sizeof(Slot)) Line {
    Slot slots[kSlotsOfLine];
  };
  size_t lines_of_each_;
  std::vector<Line> lines_;
};

struct ReadyLaunches {
  size_t count = 0;
  std::vector<Rows> of_unit;  // that take part, at least one
};

// Errors, all of them: no such kernel or buffer, an argument that does not lie in its buffer, a
// queue of a unit or of groups that there are not.
Result<ReadyLaunches> resolve(std::span<const Launch> launches,
                              std::span<const LoadedKernel> kernels,
                              std::span<const Memory> buffers, int units);

// A barrier follows every launch. Every unit notes when it arrives there; a boundary is the latest
// arrival, a step's time is from one boundary to the next, so that steps add up to the total.
// Errors: cancelled.
Result<RunTimes> run_launches(Pool& pool, const ReadyLaunches& ready,
                              std::span<const Memory> scratch, const RunOptions& options);

}  // namespace assay::runtime::cpu
