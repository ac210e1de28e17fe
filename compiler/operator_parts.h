// Pieces of the graphs of one-operator texts. Internal to compiler/.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace assay::compiler::parts {

int add_tensor(ir::Graph& g, const char* name, std::vector<int64_t> shape, bool input);
// Weights uniform in +-1: value i is a function of i alone.
int add_weights(ir::Graph& g, const char* name, std::vector<int64_t> shape);
ir::Read read_of(int tensor, std::vector<ir::Index> index, bool guarded = false, double fill = 0);
void add_node(ir::Graph& g, ir::Node n);
// A graph that computes what its last node does.
ir::Graph finish(ir::Graph g, ir::Node n);

ir::Scalar apply(ir::ScalarOp op, ir::Scalar a, ir::Scalar b);
// y[i] = body(reads at i), over `axes`.
ir::Node elementwise(const char* op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads,
                     ir::Scalar body, int output);
ir::Node reduction(const char* op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads,
                   ir::Scalar body, ir::Combiner combine, int output);

}  // namespace assay::compiler::parts
