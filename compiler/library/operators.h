// A graph as a vendor's library would run it: products with the elementwise nodes behind them,
// rows, and elementwise chains, a launch each. Shapes, bytes and operations only.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "model/launch_work.h"

namespace assay::compiler {

struct LibraryOperator {
  enum class Kind { product, rows, pointwise };
  Kind kind = Kind::pointwise;
  std::string name, label;
  std::vector<int> nodes;  // of the graph
  ir::DType type = ir::DType::f32;
  double flops = 0;
  double read = 0, written = 0;  // bytes, each tensor once
  double elements = 0;           // of the largest tensor it computes, or reduces along rows
  double window_reads = 0;       // elements that windows read, each as often as it is read
  model::Operations operations;  // of all elements; without a product's multiply-adds
  // Of a product: C[b, m, n] += A[b, m, k] B[b, k, n].
  double batches = 1, m = 1, n = 1, k = 1;
  double a_bytes = 0, b_bytes = 0;  // of the operands, each once
  // Of rows.
  double rows = 1, columns = 1;
  std::vector<ir::Combiner> reductions;  // in order
  bool writes_rows = false;              // a whole row for each row
};

// In topological order. Pre: verify(g) is empty.
std::vector<LibraryOperator> library_operators(const ir::Graph& g);

}  // namespace assay::compiler
