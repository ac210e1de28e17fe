// Plan: the programs of a whole graph, its tensors with layout and place, and its steps. A schedule
// says when which unit runs which of their groups (schedule.h), or phases which steps are launched
// together.
// It holds no estimates; those are a file of their own in the bundle.
//
// A plan for a limit of device memory also has tensors in host memory, and transfers of regions of
// them between its steps (Welder, OSDI'23: the host as the last memory).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "ir/schedule.h"
#include "support/result.h"

namespace assay::ir {

// Parts of tensors begin at multiples of so many bytes, as tensors do: kernels load vectors.
inline constexpr int64_t kPartAlignment = 64;

enum class TensorKind { input, output, constant, temporary };

// Offsets are bytes: constants inside the weights file, all others inside one arena.
struct PlanTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // logical
  Layout layout;
  TensorKind kind = TensorKind::temporary;
  int64_t offset = 0;
  int64_t bytes = 0;  // of the storage, padding included
  // A tensor with padding. The runtime fills its storage once with the layout's pad value, so
  // placement shares it with no other tensor.
  bool cleared = false;
  // In host memory: the offset is one of the host's arena; of a constant, one of the weights file
  // behind what lies on the device. Steps have no such arguments.
  bool host = false;
  bool operator==(const PlanTensor&) const = default;
};

// Where the first element of a tensor is not 0 (`value`), or where it is 0.
struct NeededIf {
  int tensor = -1;
  bool value = true;
  bool operator==(const NeededIf&) const = default;
};

// One program at work.
struct Step {
  std::string name;  // the anchor's name in the model
  int program = -1;
  std::vector<int> arguments;  // plan tensors, in the order of arguments_of(program); in another
                               // shape where both are row-major and have as many elements
  std::string label = {};      // what it computes, for tables: label.h; empty: the name is shown
  // Of each argument, the element of its tensor's storage where it begins; it goes on from there as
  // the program lays it out. Empty: each is a whole tensor.
  std::vector<int64_t> begins = {};
  // Elsewhere what it writes does not matter, and a device may leave it out: the branches of an If.
  std::optional<NeededIf> needed_if = {};
  bool operator==(const Step&) const = default;
};

// A copy that is complete before the next step or transfer begins.
struct Transfer {
  enum class Way {
    upload,    // a region of a host tensor becomes a device tensor, padding included
    download,  // a device tensor becomes a region of a host tensor
    clear      // a device tensor's storage gets its layout's pad value
  };
  Way way = Way::upload;
  int step = 0;                     // it comes before this one; the number of steps: after all
  int device = -1, host = -1;       // plan tensors; no host tensor: -1
  std::vector<int64_t> begin = {};  // of the region, which has the device tensor's shape
  bool operator==(const Transfer&) const = default;
};

struct Plan {
  std::string name;
  int units = 1;  // the schedule is made for
  std::vector<PlanTensor> tensors;
  std::vector<Program> programs;  // distinct
  std::vector<Step> steps;        // in an order in which they can run one after the other
  int64_t arena_bytes = 0, weights_bytes = 0;
  // Empty: each step on all units, with a barrier behind it. Then steps may have transfers between
  // them.
  std::vector<Command> schedule = {};
  // Where lanes are threads: groups that each unit has at once, from one launch to the end of the
  // plan, and which share the groups of the unit's commands. 0: each step is a launch.
  int resident = 0;
  // Steps that are launched together: they run in any order or at once, and all are over before the
  // next phase begins. Each step is in one. For devices that deal groups to units themselves.
  // Empty: as `schedule` says; not both.
  std::vector<std::vector<int>> phases = {};
  std::vector<Transfer> transfers = {};  // in the order in which they run; ascending by step
  // The limit of arena_bytes + weights_bytes. 0: there is none, and nothing lies in host memory.
  int64_t memory = 0;
  int64_t host_bytes = 0;          // the host's arena
  int64_t host_weights_bytes = 0;  // of constants in host memory, behind the device's weights
  bool operator==(const Plan&) const = default;
};

// The last of a step's arguments: tensors that it writes. Those before are what it reads. Pre: the
// plan verifies.
std::span<const int> written_by(const Plan& p, const Step& s);
std::span<const int> read_by(const Plan& p, const Step& s);
// Bytes [first, second) of an argument in the arena; of a constant, in the weights file.
std::pair<int64_t, int64_t> bytes_of_argument(const Plan& p, const Step& s, size_t argument);

// Transfers before step `step`, as a range of positions [first, second).
std::pair<size_t, size_t> transfers_before(const Plan& p, size_t step);
// Bytes that it moves over the link to the host.
int64_t bytes_of(const Plan& p, const Transfer& t);
// Why it is none that can be done; "": it can.
std::string transfer_fault(const Plan& p, const Transfer& t);
// The faults of transfers and of host tensors. Part of verify().
Diags verify_transfers(const Plan& p);

// What tables show of a step: its label, or its name where it has none.
const std::string& display_name(const Step& s);

Diags verify(const Plan& p);
std::string print_plan(const Plan& p);
Result<Plan> parse_plan(std::string_view text, std::string_view file);
std::string hash_of(const Plan& p);

}  // namespace assay::ir
