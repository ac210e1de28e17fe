// Places tensors: one arena for everything that is written, whose storage is reused as lifetimes
// end, and one file for constants.
//
// Why: a smaller arena stays in the caches. Best fit by size, largest first.
// Left alone: views; tensors in one storage are one tensor of the plan (views.h).
// Source: greedy by size (Pisarchyk and Lee, 2020).
#pragma once

#include "ir/plan.h"

namespace assay::compiler {

// Arrays at the same page offset map to the same cache sets. A load from one also waits for a store
// to the other, since the store buffer compares the low 12 bits of addresses (4K aliasing). Kernels
// took up to eight times as long. So page offsets of successive arrays differ by kPageStagger
// bytes: whole lines of GPUs, and sixteen different offsets.
inline constexpr int64_t kPage = 4096, kPageStagger = 1280;

// Fills offset and bytes of all tensors, and the plan's arena_bytes and weights_bytes. Inputs and
// outputs live throughout. A cleared tensor, whose padding must stay zero, shares storage only with
// tensors of the same shape and layout, which write no padding. Offsets are multiples of 64 bytes.
void place(ir::Plan& plan);

// The parts of it: constants alone, which need no steps, and all other tensors of the device.
void place_constants(ir::Plan& plan);
void place_arena(ir::Plan& plan);

// Tensors in host memory: constants behind each other in the weights file, the others in one arena
// by the transfers that use them. Inputs and outputs live throughout.
void place_host(ir::Plan& plan);

// Bytes that a tensor of so many takes in the arena.
int64_t room_for(int64_t bytes);

}  // namespace assay::compiler
