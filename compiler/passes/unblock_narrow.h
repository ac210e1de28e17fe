// Stores images row-major around convolutions whose filters fill no vector, where that is faster.
//
//   [n, c/w, y, x, c%w]   ->   [n, c, y, x]
//
// Why: lanes along channels idle where a convolution has fewer filters than a vector has lanes, and
// can not be used where filters of several groups would share a vector. Lanes along a row are all
// busy, but contiguous only where channels are not in blocks. Elementwise nodes keep the layout, so
// the image is changed through them.
// Left alone: depthwise convolutions, whose lanes along channels are busy.
// Source: layouts of convolutions chosen together by what they cost, NeoCPU (Liu et al., ATC'19).
#pragma once

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

// `block`: elements per vector, by which images are blocked; 1: none is.
LaidOut unblock_narrow_images(LaidOut laid, int64_t block, const Faster& faster);

}  // namespace assay::compiler
