// Reductions along the innermost dimension, in as many parts as a vector has lanes.
//
//   out[i] = sum over k of f(x[i, k])   ->   part[i, l] = sum over m of f(x[i, m w + l]),   out[i] = sum over l of part[i, l]
//
// The lanes of one row are neighbours, those of different rows lie apart and are gathered one by one. What is left to
// gather is w / |k| of it. Source: Hidet's parallel-k (ASPLOS'23), with a vector's lanes for parts.
#pragma once

#include "ir/graph.h"

namespace assay::compiler {

// `width`: lanes of a vector; 1: nothing is split. `ragged`: also rows that are no multiple of it, the last of whose vectors is
// not full; and no product whose operands are used again, which has better lanes than its rows (threads: those are waves).
ir::Graph split_row_reductions(const ir::Graph& g, int width, bool ragged = false);

}  // namespace assay::compiler
