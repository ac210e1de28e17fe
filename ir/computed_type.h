// The type that a node computes in. Its reads are converted to it when they are loaded, its result
// to the type of its output when it is stored (converts in dtype.h).
//
//   i32, of an expression whose reads and output are i8, u8 or i32. Its body has whole constants,
//        axes, and + - * neg max min less equal select alone. It combines by sum, max or min.
//   f32, of all others that kernels are generated for.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace assay::ir {

DType computed_in(const Graph& g, const Node& n);

bool is_whole(DType t);  // i8, u8, i32

// Whether the value of node `n` in a register is what its output tensor holds, up to the digits
// that small floats have less. A whole number computed in f32, or stored in 8 bits, is rounded and
// saturates.
bool keeps_value(const Graph& g, const Node& n);

// The longest sum of such terms of which i32 holds every one: of products of two reads in i32.
// nullopt: no sum computed in i32, or of terms whose size is not known.
std::optional<int64_t> exact_terms(const Graph& g, const Node& n);

// A note for each node whose sum may be beyond i32, with the length from which on it may.
Diags overflow_notes(const Graph& g);

}  // namespace assay::ir
