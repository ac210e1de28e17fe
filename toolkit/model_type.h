// What storing a model's values in a narrower type changes.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/target.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "support/result.h"

namespace assay::toolkit {

struct OutputError {
  std::string output;
  double relative = 0;  // largest difference, over the largest magnitude
};

// Per output: `typed` with every result rounded as it is stored, beside `exact` in float64, on the
// same random inputs. Both are one model. Errors: those of ir::evaluate.
Result<std::vector<OutputError>> errors_of_type(const ir::Graph& exact, const ir::Graph& typed);

// The same as notes, a line per output.
Diags notes_of(const std::vector<OutputError>& errors, const std::string& type);

// The types of floating-point numbers that the graph's inputs and outputs hold: `f16`, `f16 f32`.
std::string types_of(const ir::Graph& graph);

// Tensors of f16 and bf16 that kernels of the target can not store become f32. A note says so.
Diags widen(ir::Graph& graph, const hwdesc::Target& target);

// A note where the plan stores what a model has in f16 or bf16 as f32, since that is estimated
// faster.
Diags notes_of_storage(const ir::Graph& graph, const ir::Plan& plan);

}  // namespace assay::toolkit
