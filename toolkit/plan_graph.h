// A plan as a graph for drawing: what each step computes, and where its tensors lie between.
// Internal to toolkit/.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"

namespace assay::toolkit {

struct DrawnNode {
  enum class Role { computes, input, output };
  Role role = Role::computes;
  int step = -1;                   // of what computes
  std::vector<std::string> lines;  // of its label
  int64_t constant_bytes = 0;      // of the constants that it reads
  bool operator==(const DrawnNode&) const = default;
};

// A tensor that a node makes and another one reads.
struct DrawnEdge {
  int from = -1, to = -1;  // nodes
  std::string memory;      // where it lies, by its name in the profile, or `registers`
  int64_t bytes = 0;       // of what lies there at once
  int64_t whole = 0;       // of the tensor
  bool operator==(const DrawnEdge&) const = default;
};

struct DrawnPlan {
  std::vector<DrawnNode>
      nodes;  // of the steps in order, with the model's inputs and outputs between
  std::vector<DrawnEdge> edges;  // no two are alike
};

enum class Detail {
  nodes,    // a node each; inside a program they pass values in registers
  programs  // a program each, with its epilogue as further lines
};

// `read_from`: per step and argument the memory that holds it; `far`: that of the model's outputs.
DrawnPlan drawn(const ir::Plan& plan, const std::vector<std::vector<std::string>>& read_from,
                const std::string& far, Detail detail);

// Steps that compute the same programs again and again, each repetition from what the one before it
// made: the layers of a network.
struct Repeats {
  int first = 0, period = 1, times = 1;  // of the steps
  bool operator==(const Repeats&) const = default;
  int end() const { return first + period * times; }
};

// Those that leave the fewest steps, in order; none overlaps another.
std::vector<Repeats> repeats_of(const ir::Plan& plan);

}  // namespace assay::toolkit
