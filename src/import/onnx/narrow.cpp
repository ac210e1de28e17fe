#include "import/onnx/narrow.h"

#include <fmt/format.h>

#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;

// The first integer that is not the same as f32.
std::optional<int64_t> inexact(DType t, const std::vector<std::byte>& bytes) {
  const size_t size = static_cast<size_t>(ir::bytes_of(t));
  for (size_t at = 0; at < bytes.size(); at += size) {
    const int64_t value = ir::load_integer(t, bytes.data() + at);
    const float narrowed = static_cast<float>(value);
    if (narrowed >= 0x1p63F || static_cast<int64_t>(narrowed) != value) return value;
  }
  return std::nullopt;
}

}  // namespace

Diags narrow(ir::Graph& g) {
  Diags faults;
  for (ir::Tensor& t : g.tensors) {
    if (t.dtype == DType::f32) continue;
    if (t.constant >= 0) {
      std::vector<std::byte>& bytes = g.constants[static_cast<size_t>(t.constant)].bytes;
      if (ir::is_integer(t.dtype))
        if (const std::optional<int64_t> value = inexact(t.dtype, bytes))
          faults.push_back(error(fmt::format("value {}: the integer {} is not exact as f32", t.name, *value),
                                 "elements are f32 when a program runs: integers up to 2^24 are exact"));
      bytes = ir::bytes_of_doubles(DType::f32, ir::doubles_of(t.dtype, bytes));
    }
    t.dtype = DType::f32;
  }
  return faults;
}

}  // namespace assay::import
