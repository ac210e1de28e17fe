// A graph that computes bounds of another graph's rounding errors.
//
// For sums of products the error of any order of summation is at most about K eps sum|a||b|
// (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3). The magnitude graph replaces
// each value by its absolute value and each subtraction by an addition. Evaluated on |inputs| it
// gives sum|a||b| for each output element, also through chains of nodes. Rules:
//   |a + b|, |a - b| -> m(a) + m(b)      |a * b| -> m(a) m(b)
//   max, min, select -> max(m(a), m(b))  |-a|, |a| -> m(a)
//   |a / b| -> m(a) / m(b), where b is given
// What is computed in i32 is exact and keeps its sign; its magnitude is taken where it is read.
// Positions of lookups and scatters keep their values: their absolute value is another row. What is
// not finite counts as 0, since beside it only the same is right (toolkit/verify.h).
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace assay::toolkit {

// nullopt: a body holds an operation without such a rule (division, exp, ...), a node sorts, or a
// tensor holds both positions and summands.
std::optional<ir::Graph> magnitude_graph(const ir::Graph& graph);

// The graph without the rounding of whole results that are computed in f32, which are its outputs:
// exact values may lie near a tie, and another step is as right then. nullopt: something reads a
// rounded value.
std::optional<ir::Graph> unrounded_graph(const ir::Graph& graph);

// The inputs of the magnitude graph.
std::vector<std::vector<float>> magnitudes_of(const ir::Graph& graph,
                                              std::vector<std::vector<float>> inputs);

// K: reduction lengths and body operations added up along the graph.
double terms_of(const ir::Graph& graph);

}  // namespace assay::toolkit
