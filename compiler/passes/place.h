// Where tensors lie: one arena for everything that is written, reused as lifetimes end; one file
// for constants.
#pragma once

#include "ir/plan.h"

namespace assay::compiler {

// Arrays that begin at the same place of a page take the same sets of caches, row by row where rows
// are pages apart, and a core takes loads from one for what it has just stored to the other (by the
// low 12 bits of addresses): kernels take up to eight times as long. So each begins so much further
// in its page than the one before: whole lines of GPUs, sixteen places.
inline constexpr int64_t kPage = 4096, kApart = 1280;

// Fills offset and bytes of all tensors, and the plan's arena_bytes and weights_bytes. Inputs and
// outputs are alive throughout. A zeroed tensor (its padding must stay zero) shares storage only
// with tensors of the same shape and layout, whose writes spare the same padding. Best fit by size,
// largest first; offsets are multiples of 64 bytes, those of tensors that follow one of a page or
// more kApart off its place in a page.
void place(ir::Plan& plan);

}  // namespace assay::compiler
