// What a product reads with a stride, copied first to where it lies without gaps, where lanes are
// threads: rows of a convolution of 1 x 1 that takes every second pixel do not follow each other,
// so that lanes end with each row or lie across channels. Without gaps they are joined (join.h).
// Source: the explicit form of implicit GEMM's operand (Chetlur et al. 2014, cuDNN, section 3), of
// that operand alone.
//
//   out[n, o, y, x] = sum over c of t[n, c, s y, s x] w[o, c]   ->   dense[n, c, y, x] = t[n, c, s
//   y, s x],  out = sum of dense[n, c, y, x] w[o, c]
#pragma once

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

// Where `faster` says so; nodes that read the same part of a tensor share the copy. `width`: lanes
// of a wave; longer rows stay.
LaidOut compact_strided(LaidOut laid, int width, const Faster& faster);

}  // namespace assay::compiler
