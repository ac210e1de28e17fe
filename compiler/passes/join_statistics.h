// Two reductions over the same axes, of which the second one uses what the first one finds, as one
// tuple reduction, which reads its rows once:
//
//   m[i] = max_j f(i, j),     s[i] = sum_j exp(f(i, j) - m[i])
//   m[i] = 1/n sum_j f(i, j), v[i] = c sum_j (f(i, j) - m[i])^2
//
// The first are softmax's statistics, the second mean and variance.
// What lies between them in the graph, and which operators it came from, does not matter. The
// algebra is in join_statistics.cpp. Sources: Milakov, Gimelshein, "Online normalizer calculation
// for softmax", 2018; Chan, Golub, LeVeque, "Algorithms for computing the sample variance", The
// American Statistician 37, 1983.
#pragma once

#include "compiler/passes/part.h"
#include "ir/graph.h"

namespace assay::compiler {

// Joins where `faster` agrees about both reductions and what reads them element by element.
ir::Graph join_statistics(ir::Graph g, const FasterGraph& faster);

}  // namespace assay::compiler
