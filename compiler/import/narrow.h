// The last step of an import: elements as programs compute them.
//
// ONNX's element types matter while operators are read (an integer division rounds, a cast to
// integer truncates); what runs is f32. Booleans are 0 and 1, integers exact up to 2^24, f16 and
// bf16 computed as f32, f64 rounded to f32.
#pragma once

#include "ir/graph.h"
#include "support/result.h"

namespace assay::import {

// Every tensor becomes f32; `input_types` keeps what integer inputs were. Errors: a constant
// integer that f32 can not hold. Notes: floating point types that are computed in f32.
Diags narrow(ir::Graph& g);

}  // namespace assay::import
