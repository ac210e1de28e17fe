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

bool overflows(double v) { return std::isfinite(v) && !std::isfinite(static_cast<float>(v)); }
bool overflows(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return overflows(v); });
}

// The first number of a body that f32 can not hold.
std::optional<double> beyond(const ir::Scalar& s) {
  if (s.op == ir::ScalarOp::constant && overflows(s.value)) return s.value;
  for (const ir::Scalar& arg : s.args)
    if (const auto found = beyond(arg)) return found;
  return std::nullopt;
}

// Types that programs do not compute in, by the values that inputs hold and nodes write.
void add_notes(const ir::Graph& g, Diags& to) {
  for (const DType t : {DType::f64, DType::f16, DType::bf16}) {
    std::vector<const ir::Tensor*> of;
    for (const ir::Tensor& tensor : g.tensors)
      if (tensor.dtype == t && tensor.constant < 0) of.push_back(&tensor);
    if (of.empty()) continue;
    const auto is_input = [&](int id) { return g.tensors[static_cast<size_t>(id)].dtype == t; };
    Diag note = error(fmt::format("{} of type {}, such as {}, {} computed in f32{}",
                                  of.size() == 1 ? "1 value" : fmt::format("{} values", of.size()),
                                  ir::name_of(t), of.front()->name, of.size() == 1 ? "is" : "are",
                                  std::any_of(g.inputs.begin(), g.inputs.end(), is_input)
                                      ? "; inputs of this type are given in f32"
                                      : ""));
    note.severity = Severity::note;
    to.push_back(std::move(note));
  }
}

void narrow_constant(const ir::Tensor& t, std::vector<std::byte>& bytes, Diags& faults) {
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

}  // namespace

Diags narrow(ir::Graph& g) {
  Diags diags;
  add_notes(g, diags);
  const auto type_of = [&](int id) { return g.tensors[static_cast<size_t>(id)].dtype; };
  if (std::any_of(g.inputs.begin(), g.inputs.end(),
                  [&](int id) { return ir::is_integer(type_of(id)); }))
    for (const int id : g.inputs) g.input_types.push_back(type_of(id));
  for (ir::Tensor& t : g.tensors) {
    if (t.dtype == DType::f32) continue;
    if (t.constant >= 0)
      narrow_constant(t, g.constants[static_cast<size_t>(t.constant)].bytes, diags);
    t.dtype = DType::f32;
  }
  for (const ir::Node& n : g.nodes)
    if (const auto number = beyond(n.body))
      diags.push_back(error(
          fmt::format("node {}: it computes with {}, beyond the range of f32", n.name, *number)));
  return diags;
}

}  // namespace assay::import
