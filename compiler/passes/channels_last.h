// Stores images with whole channels innermost where a sum slides along them, and that is faster.
//
//   [n, c/w, y, x, c%w]   ->   [n, y, x, c] pad c
//
// Why: a window along channels, such as that of a local response normalisation, puts the lanes of a
// vector into two blocks. Vectors along channels are impossible then, and others gather every term.
// With channels in one run they are contiguous at any position, and what writes the image still
// stores whole vectors. The zero padding along channels replaces guards that differ between lanes.
// The image alone is changed, or it with those that elementwise nodes link to it.
// Left alone: nodes that read shifted channels once, such as slices, which gather a term a result.
// Source: layouts chosen together by what they cost, NeoCPU (Liu et al., ATC'19).
#pragma once

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

// `block`: elements per vector, by which images are blocked; 1: none is.
LaidOut move_channels_last(LaidOut laid, int64_t block, const Faster& faster);

}  // namespace assay::compiler
