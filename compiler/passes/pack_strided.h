// Packs strided reads of products, for waves: a copy node stores the elements contiguously.
//
//   out[n, o, y, x] = sum(c) t[n, c, s y, s x] w[o, c]
//
//   ->   dense[n, c, y, x] = t[n, c, s y, s x],   out[n, o, y, x] = sum(c) dense[n, c, y, x] w[o,
//   c]
//
// Why: rows of a strided 1x1 convolution are not adjacent, so a wave's lanes end with each short
// row or gather across channels. Packed, rows and columns collapse into one axis (collapse_axes.h).
// Left alone: constants, guarded reads, rows at least as long as a wave, and where `faster` denies
// it. Source: the explicit im2col of cuDNN (Chetlur et al. 2014, section 3), of the strided operand
// only.
#pragma once

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

// `width`: lanes of a wave. Nodes that read the same elements of a tensor share the copy.
LaidOut pack_strided_reads(LaidOut laid, int width, const Faster& faster);

}  // namespace assay::compiler
