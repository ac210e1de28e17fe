// Resolves launches to functions, pointers and group ranges per unit, and holds the loop in which
// all units execute them.
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
  struct Head {
    uint32_t ranges;
    uint16_t bytes;  // of the condition; 0: there is none
    uint16_t value;
  };
  Entry entry;
  void* pointer;
  int64_t number;
  Head head;
};

// One unit's part of a launch, in one contiguous block. After a long step it is no longer cached. A
// contiguous block costs one miss, linked parts would cost a miss per pointer.
class Row {
 public:
  explicit Row(const Slot* slots) : slots_(slots) {}
  Entry entry() const { return slots_[0].entry; }
  size_t ranges() const { return slots_[1].head.ranges; }
  // Launch::needed_if. Pre: what writes the condition is over.
  bool is_needed() const {
    const Slot::Head& head = slots_[1].head;
    const auto* from = static_cast<const unsigned char*>(slots_[2].pointer);
    return head.bytes == 0 || std::any_of(from, from + head.bytes, [](unsigned char b) {
                                return b != 0;
                              }) == (head.value != 0);
  }
  GroupRange range(size_t i) const { return {slots_[3 + 2 * i].number, slots_[4 + 2 * i].number}; }
  void* const* arguments() const { return &slots_[3 + 2 * ranges()].pointer; }
  const void* address() const { return slots_; }

 private:
  const Slot* slots_;
};

// The rows of one unit, contiguous and in whole cache lines. At least one, which may be empty.
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
  std::vector<Rows> of_unit;  // participating units, at least one
};

// A launch without its groups.
struct Call {
  Entry entry = nullptr;
  std::vector<void*> arguments;
  int64_t groups = 0;
  void* condition = nullptr;  // Launch::needed_if
  int condition_bytes = 0;
  bool condition_value = true;
};

// One range of its groups, as a row of this many slots.
size_t slots_of(const Call& call, size_t ranges);
void write_row(const Call& call, std::span<const GroupRange> ranges, Slot* to);

// Errors, all of them: unknown kernel or buffer, an argument outside its buffer.
Result<std::vector<Call>> resolve_calls(std::span<const Launch> launches,
                                        std::span<const LoadedKernel> kernels,
                                        std::span<const Memory> buffers);

// Errors, all of them: those of resolve_calls, a queue of unknown units or groups.
Result<ReadyLaunches> resolve(std::span<const Launch> launches,
                              std::span<const LoadedKernel> kernels,
                              std::span<const Memory> buffers, int units);

// Adds what a unit has left out, per launch.
void note_left_out(RunTimes& times, std::span<const char> left_out);

// A barrier follows every launch, and every unit records when it arrives there. A boundary is the
// latest arrival, and a step lasts from one boundary to the next, so steps add up to the total.
// Errors: cancelled.
Result<RunTimes> run_launches(Pool& pool, const ReadyLaunches& ready,
                              std::span<const Memory> scratch, const RunOptions& options);

}  // namespace assay::runtime::cpu
