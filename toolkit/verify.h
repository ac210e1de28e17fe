// Are the results right: compared with the float64 reference or with a file of another program.
//
//   max_relative_error = max|y - ref| / max|ref| per output, the largest of them
//   a value is wrong if  |y - ref| > 4 K eps sum|a||b|   where a bound is known
//   (toolkit/magnitude.h)
// Verified: whole models below kWholeModelLimit; a single operator, and a plan's step, when no
// value is wrong. NaN is always wrong.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"
#include "toolkit/run.h"

namespace assay::toolkit {

inline constexpr double kWholeModelLimit = 1e-3;

struct Verdict {
  bool verified = false;
  double max_relative_error = 0;
  int64_t values = 0;
  int64_t wrong = 0;     // beyond the bound where there is one, else not finite
  bool bounded = false;  // whether the bound of each value was known
  std::string against;   // what it was compared with
};

// Values against a reference, by position; `bound` per value, empty: none known.
Verdict compare(const Values& found, const std::vector<std::vector<double>>& reference,
                const std::vector<std::vector<double>>& bound);

// 4 K eps sum|a||b| per value of the graph's outputs; empty when no bound is known.
Result<std::vector<std::vector<double>>> bounds_of(const ir::Graph& graph, Values inputs);

// Against ir::evaluate of the bundle's graph. Errors: what evaluate says; the bundle was read
// without its constants.
Result<Verdict> check_outputs(const ir::Graph& graph, const Values& inputs, const Values& outputs);

// Against raw little-endian float32 of another program.
Result<Verdict> check_reference(const ir::Graph& graph, const std::string& path,
                                const Values& outputs);

}  // namespace assay::toolkit
