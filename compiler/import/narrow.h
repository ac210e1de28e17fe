// The last step of an import: elements as programs store and compute them.
//
// ONNX's element types matter while operators are read (an integer division rounds, a cast to
// integer truncates). What runs computes in f32 or i32 (ir/computed_type.h). Values of small
// floats, i8 and u8 are stored in these types, and the sums of quantised products in i32; booleans
// are 0 and 1, integers exact up to 2^24, f64 rounded to f32.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace assay::import {

// Per tensor, whether the model names it. What an operator computes in between stays f32: a sum of
// squares has more digits than its root, and may be beyond the range of f16. `wanted`: the type of
// all values that are floating-point numbers; none: as the model says. Then constants of one
// element, and those that the type can not hold, stay f32; the latter with a note.
Diags store_as(ir::Graph& g, const std::vector<char>& is_value, std::optional<ir::DType> wanted);

// Every tensor becomes one that kernels store; i8 and u8 stay, and i32 where `is_whole` says so,
// per tensor; `input_types` keeps what integer inputs were. Errors: a constant integer that f32 can
// not hold. Notes: floating-point types that are not kept.
Diags narrow(ir::Graph& g, const std::vector<char>& is_whole);

}  // namespace assay::import
