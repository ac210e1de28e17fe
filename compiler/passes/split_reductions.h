// Reductions along the innermost dimension, in as many parts as a vector has lanes.
//
//   out[i] = sum over k of f(x[i, k])   ->   part[i, l] = sum over m of f(x[i, m w + l]),   out[i]
//   = sum over l of part[i, l]
//
// The lanes of one row are neighbours, those of different rows lie apart and are gathered one by
// one. What is left to gather is w / |k| of it. Source: Hidet's parallel-k (ASPLOS'23), with a
// vector's lanes for parts.
#pragma once

#include "compiler/passes/choose_layouts.h"
#include "ir/graph.h"

namespace assay::compiler {

// `width`: lanes of a vector; 1: nothing is split. `ragged`: also rows that are no multiple of it,
// the last of whose vectors is not full; and no product whose operands are used again, which has
// better lanes than its rows (threads: those are waves).
ir::Graph split_row_reductions(const ir::Graph& g, int width, bool ragged = false);

// Sums of few results, each so long that the waves there are would wait for their loads most of the
// time: in parts side by side, added up at the end, where `faster` says so. `results`: as many as
// keep a device busy. Source: Hidet's parallel-k (ASPLOS'23).
//
//   out[i] = sum over k of f(i, k)   ->   part[p, i] = sum over m of f(i, p K/P + m),   out[i] =
//   sum over p of part[p, i]
LaidOut split_long_sums(LaidOut laid, double results, const Faster& faster);

}  // namespace assay::compiler
