// Plan: the programs of a whole graph, its tensors with layout and place, and the scheduled steps.
// It holds no estimates; those are a file of their own in the bundle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace assay::ir {

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
  bool operator==(const PlanTensor&) const = default;
};

// Groups [begin, end) of a step on virtual execution unit `unit` (Rammer, OSDI'20, section 3.1:
// vEUs; here the pool's workers).
struct Queue {
  int unit = 0;
  int64_t begin = 0, end = 0;
  bool operator==(const Queue&) const = default;
};

// One launch, followed by a barrier of all units.
struct Step {
  std::string name;  // the anchor's name in the model
  int program = -1;
  std::vector<int> arguments;  // plan tensors, in the order of arguments_of(program); in another
                               // shape where both are row-major and have as many elements
  std::vector<Queue> queues;
  std::string label = {};  // what it computes, for tables: label.h; empty: the name is shown
  bool operator==(const Step&) const = default;
};

struct Plan {
  std::string name;
  int units = 1;  // vEUs the schedule is made for
  std::vector<PlanTensor> tensors;
  std::vector<Program> programs;  // distinct
  std::vector<Step> steps;
  int64_t arena_bytes = 0, weights_bytes = 0;
  bool operator==(const Plan&) const = default;
};

// What tables show of a step: its label, or its name where it has none.
const std::string& display_name(const Step& s);

Diags verify(const Plan& p);
std::string print_plan(const Plan& p);
Result<Plan> parse_plan(std::string_view text, std::string_view file);
std::string hash_of(const Plan& p);

}  // namespace assay::ir
