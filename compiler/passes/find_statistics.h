// Finds two reductions over the same axes of which the second one uses what the first one finds:
// those that join_statistics joins. Operators are not known by name.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace assay::compiler {

struct StatisticsPair {
  int first = -1, second = -1;  // nodes
  ir::Node sum;                 // the second one with what is between inlined
  ir::Scalar f;                 // of its reads
  double factor = 1;            // of the second sum
  bool exponential = false;
};

// The pair whose second reduction is node `second`. Both are sums or largest ones of f32, and read
// by nothing but expressions.
std::optional<StatisticsPair> statistics_pair(const ir::Graph& g, int second);

// Terms of each result of a reduction.
double terms_of(const ir::Graph& g, const ir::Node& n);

}  // namespace assay::compiler
