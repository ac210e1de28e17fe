// Softmax, and the sums that read its exponentials, in blocks of the row. Each block has a largest
// term of its own. With j in blocks b,
//
//   m[i]    = max_j f(i, j)                 m[b, i]    = max_j in b f(i, j)
//   p[i, j] = exp(f(i, j) - m[i])       ->  p[b, i, j] = exp(f(i, j) - m[b, i])
//
//   o[i, d] = sum_j p[i, j] g(j, d)     ->  o[b, i, d] = sum_j in b p[b, i, j] g(j, d)
//
//                                           M[i] = max_b m[b, i],  w[b, i] = exp(m[b, i] - M[i])
//
//                                           o[i, d] = sum_b w[b, i] o[b, i, d]
//
// since exp(f - M) = exp(f - m[b]) exp(m[b] - M): sums over j are rescaled when the largest term
// changes. Blocks are groups of their own: a tile of p is as long as a block, not as a row, and
// rows too few for all units are computed by several. In attention f are the scores, g the values;
// the pass does not know it. m[b, i] is at least the lowest finite number. So a block of -inf adds
// 0, and a row of -inf is NaN as before.
//
// Sources: Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
// "FlashAttention", NeurIPS'22, algorithm 1; Dao et al., "Flash-Decoding", 2023 (blocks side by
// side).
#pragma once

#include <functional>
#include <vector>

#include "compiler/passes/part.h"
#include "ir/graph.h"

namespace assay::compiler {

// How many blocks may pay for `rows` rows of `length` terms each, the likeliest first.
using BlockCounts = std::function<std::vector<int64_t>(int64_t rows, int64_t length)>;

// Blocks where `faster` agrees about the part of the graph that changes, what makes f and what
// reads the sums element by element included. Left alone: rows of other forms, exponentials that
// something else reads, lengths that blocks do not divide.
ir::Graph block_softmax(ir::Graph g, const BlockCounts& counts, const FasterGraph& faster);

}  // namespace assay::compiler
