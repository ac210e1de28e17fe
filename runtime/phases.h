// Steps of a run, which are its phases or single launches, and how launches of a phase become one
// launch of the device. Shared by the devices whose drivers assign groups to units.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/launch.h"

namespace assay::runtime {

// Errors: those of check_phases(); phases beside a schedule.
Diags check_phases_of(const RunOptions& options, size_t launches);

// The error of phases on a device whose units work through queues of their own; none without them.
Diags refuse_phases(const std::string& device, const RunOptions& options);

// Of each step the positions of its launches: the phases, or each launch alone.
std::vector<std::vector<int>> steps_of(const RunOptions& options, size_t launches);

// `launch 3 ('add')`, or of a phase `phase 3 ('add', 'copy')`.
std::string name_of_step(std::span<const Launch> launches, std::span<const ir::Kernel> kernels,
                         const RunOptions& options, size_t step);

struct MergeRule {
  // Launches of one kind may be one launch; nullopt: it stays alone.
  std::function<std::optional<int>(int launch)> kind;
  // Whether one more launch of their kind may join these.
  std::function<bool(std::span<const int> part, int launch)> fits = {};  // empty: always
};

// Parts of a phase, each one launch of the device: in the order of their first launches, and
// launches in the phase's order.
std::vector<std::vector<int>> parts_of(std::span<const int> phase, const MergeRule& rule);

// Of a merged launch, what the dialects' `merged` reads: `rows` rows of `stride` words.
struct MergedTable {
  std::vector<int64_t> words;
  int64_t rows = 0, stride = 0;
  int64_t groups = 0;  // of all rows
};

struct MergedLaunch {
  std::vector<GroupRange> ranges;
  int64_t kernel = 0;  // its number in the merged kernel
  std::vector<int64_t> arguments;
};

// One table, or several, each of at most `most` groups. None where there are no groups.
std::vector<MergedTable> merged_tables(std::span<const MergedLaunch> launches, int64_t most);

}  // namespace assay::runtime
