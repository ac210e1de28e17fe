#include "compiler/import/narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

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

bool overflows(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double v) {
    return std::isfinite(v) && !std::isfinite(static_cast<float>(v));
  });
}

}  // namespace

Diags narrow(ir::Graph& g) {
  Diags faults;
  for (ir::Tensor& t : g.tensors) {
    if (t.dtype == DType::f32) continue;
    if (t.constant >= 0) {
      std::vector<std::byte>& bytes = g.constants[static_cast<size_t>(t.constant)].bytes;
      const std::optional<int64_t> value =
          ir::is_integer(t.dtype) ? inexact(t.dtype, bytes) : std::nullopt;
      if (value)
        faults.push_back(
            error(fmt::format("value {}: the integer {} is not exact as f32", t.name, *value),
                  "elements are f32 when a program runs: integers up to 2^24 are exact"));
      if (t.dtype == DType::f64 && overflows(ir::doubles_of(t.dtype, bytes)))
        faults.push_back(
            error(fmt::format("value {}: it holds numbers beyond the range of f32", t.name)));
      bytes = ir::bytes_of_doubles(DType::f32, ir::doubles_of(t.dtype, bytes));
    }
    t.dtype = DType::f32;
  }
  return faults;
}

}  // namespace assay::import
