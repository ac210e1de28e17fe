// Are the results correct? Compares with the float64 reference, or with another program's file.
//
//   max_relative_error = max|y - ref| / max|ref|, the largest over the outputs.
//   wrong              = |y - ref| > (4 K eps + R u) sum|a||b| + K 2^-126 + R s, if known
//                        (toolkit/magnitude.h).
//
// R results are rounded to a type of unit roundoff u and least number s when they are stored.
//
// Whole numbers that are computed in i32 are equal. One that is computed in f32 may be the next one
// where the exact value is nearer to the tie between both than the bound above.
//
// A whole model is verified below its limit; a single operator or a plan's step, if no value is
// wrong. A model that rounds values to whole numbers inside is judged step by step
// (toolkit/verify_programs.h): one that is rounded to the next number changes all that follow.
// Special values are stated in docs/validating.md. NaN is right beside NaN alone, an infinity
// beside the same one or a reference that f32 can not hold. Numbers below 2^-126 count as 0, also
// each of the K intermediate ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/result.h"
#include "toolkit/run.h"

namespace assay::toolkit {

inline constexpr double kWholeModelLimit = 1e-3;  // of f32,
inline constexpr double kRoundingsOfModel = 16;   // else so many roundings of its narrowest type
double whole_model_limit(const ir::Graph& graph);
// Does a node round a real number to a whole one?
bool has_steps_inside(const ir::Graph& graph);

struct Verdict {
  bool verified = false;
  double max_relative_error = 0;
  int64_t values = 0;
  int64_t wrong = 0;     // beyond their bound; without bounds, not finite
  bool bounded = false;  // was a bound known for each value?
  std::string against;   // name of the reference
  std::string where;     // the first step that is wrong, where steps are judged
};

// Values against a reference, by position; `bound` per value, empty: none known. `limit`: of a
// whole model.
Verdict compare(const Values& found, const std::vector<std::vector<double>>& reference,
                const std::vector<std::vector<double>>& bound, double limit = kWholeModelLimit);

// The graph's outputs among the values of all its tensors; infinite where their type holds no such
// number.
std::vector<std::vector<double>> outputs_of(const ir::Graph& graph,
                                            std::vector<std::vector<double>> all);

// The bound above, per value of the graph's outputs; empty when none is known.
Result<std::vector<std::vector<double>>> bounds_of(const ir::Graph& graph, const Values& inputs);

// Against ir::evaluate of the bundle's graph; `limit`: of a graph of several nodes. Errors: those
// of evaluate; the bundle was read without its constants.
Result<Verdict> check_outputs(const ir::Graph& graph, const Values& inputs, const Values& outputs,
                              std::optional<double> limit = std::nullopt);

// Against raw little-endian float32 of another program.
Result<Verdict> check_reference(const ir::Graph& graph, const std::string& path,
                                const Values& outputs);

}  // namespace assay::toolkit
