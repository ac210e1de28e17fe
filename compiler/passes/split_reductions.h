// Splits reductions into parts that are computed in parallel, and a short sum of the parts.
//
// Why: lanes of different rows are strided and gathered one by one, lanes along a row are
// contiguous. On waves, a long sum of few results leaves most lanes idle, and the few wait for
// their loads. Left alone: constants, which are packed; guarded reads and lookups; short rows.
// Source: Hidet's parallel-k (ASPLOS'23), known as split-K.
#pragma once

#include "compiler/passes/choose_layouts.h"
#include "ir/graph.h"

namespace assay::compiler {

// A reduction along the innermost dimension in as many parts as a vector has lanes:
//
//   out[i] = sum(k) f(i, k)   ->   part[i, l] = sum(m) f(i, m w + l),   out[i] = sum(l) part[i, l]
//
// What remains to gather is w / |k| of it. `width`: w; 1: nothing is split. Where w does not divide
// the length of a row, the elements after the last whole vector are reduced by themselves;
// `ragged`: the last vector is masked (waves). A product with reuse has other good lanes: `faster`
// decides, and waves never split it.
ir::Graph split_reductions(const ir::Graph& g, int width, bool ragged = false,
                           const Faster& faster = {});

// A long sum in P parts of consecutive elements, where `faster` agrees:
//
//   out[i] = sum(k) f(i, k)   ->   part[p, i] = sum(m) f(i, p K/P + m),   out[i] = sum(p) part[p,
//   i]
//
// `results`: partial sums that keep the device busy; sums with fewer results are split.
LaidOut split_long_sums(LaidOut laid, double results, const Faster& faster);

}  // namespace assay::compiler
