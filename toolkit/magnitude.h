// A graph that computes bounds of another graph's rounding errors.
//
// For sums of products the error of any order of summation is at most about K eps sum|a||b|
// (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3). The magnitude graph replaces
// each value by its absolute value and each subtraction by an addition. Evaluated on |inputs| it
// gives sum|a||b| for each output element, also through chains of nodes. Rules:
//   |a + b|, |a - b| -> m(a) + m(b)      |a * b| -> m(a) m(b)
//   max, min, select -> max(m(a), m(b))  |-a|, |a| -> m(a)
#pragma once

#include <optional>

#include "ir/graph.h"

namespace assay::toolkit {

// nullopt: a body holds an operation without such a rule (division, exp, ...).
std::optional<ir::Graph> magnitude_graph(const ir::Graph& graph);

// K: reduction lengths and body operations added up along the graph.
double terms_of(const ir::Graph& graph);

}  // namespace assay::toolkit
