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

bool is_real(DType t) { return ir::is_small_float(t) || t == DType::f32 || t == DType::f64; }

// f64 is not kept: by the values that inputs hold and nodes write.
void add_notes(const ir::Graph& g, Diags& to) {
  std::vector<const ir::Tensor*> of;
  for (const ir::Tensor& tensor : g.tensors)
    if (tensor.dtype == DType::f64 && tensor.constant < 0) of.push_back(&tensor);
  if (of.empty()) return;
  const auto is_input = [&](int id) {
    return g.tensors[static_cast<size_t>(id)].dtype == DType::f64;
  };
  Diag note = error(fmt::format("{} of type f64, such as {}, {} computed in f32{}",
                                of.size() == 1 ? "1 value" : fmt::format("{} values", of.size()),
                                of.front()->name, of.size() == 1 ? "is" : "are",
                                std::any_of(g.inputs.begin(), g.inputs.end(), is_input)
                                    ? "; inputs of this type are given in f32"
                                    : ""));
  note.severity = Severity::note;
  to.push_back(std::move(note));
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

// Does rounding to f16 or bf16 make an infinity of a number?
bool is_beyond(DType t, const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [&](double v) {
    return std::isfinite(v) && !std::isfinite(ir::rounded(t, v));
  });
}

// The type to store a constant in, for values of type `t`.
DType constant_type(const ir::Graph& g, const ir::Tensor& of, DType t, Diags& notes) {
  if (!ir::is_small_float(t) || of.dtype == t) return t;
  if (ir::elements(of) == 1) return DType::f32;
  const auto id = static_cast<size_t>(of.constant);
  if (!is_beyond(t, ir::doubles_of(of.dtype, g.constants[id].bytes))) return t;
  Diag note = error(fmt::format("value {} holds numbers beyond the range of {}; it stays f32",
                                of.name, ir::name_of(t)));
  note.severity = Severity::note;
  notes.push_back(std::move(note));
  return DType::f32;
}

}  // namespace

Diags store_as(ir::Graph& g, const std::vector<char>& is_value, std::optional<DType> wanted) {
  Diags notes;
  for (size_t i = 0; i < g.tensors.size(); ++i) {
    ir::Tensor& t = g.tensors[i];
    if (!is_real(t.dtype)) continue;
    DType to = is_value[i] == 0 && t.constant < 0 ? DType::f32 : wanted.value_or(t.dtype);
    if (to == DType::f64 || (is_value[i] == 0 && t.dtype == DType::f64)) continue;  // see narrow
    if (t.constant >= 0) {
      to = constant_type(g, t, to, notes);
      std::vector<std::byte>& bytes = g.constants[static_cast<size_t>(t.constant)].bytes;
      if (to != t.dtype) bytes = ir::bytes_of_doubles(to, ir::doubles_of(t.dtype, bytes));
    }
    t.dtype = to;
  }
  return notes;
}

Diags narrow(ir::Graph& g, const std::vector<char>& is_whole) {
  Diags diags;
  add_notes(g, diags);
  const auto type_of = [&](int id) { return g.tensors[static_cast<size_t>(id)].dtype; };
  if (std::any_of(g.inputs.begin(), g.inputs.end(),
                  [&](int id) { return ir::is_integer(type_of(id)); }))
    for (const int id : g.inputs) g.input_types.push_back(type_of(id));
  for (size_t i = 0; i < g.tensors.size(); ++i) {
    ir::Tensor& t = g.tensors[i];
    const bool kept =
        t.dtype == DType::i8 || t.dtype == DType::u8 || (t.dtype == DType::i32 && is_whole[i] != 0);
    if (t.dtype == DType::f32 || ir::is_small_float(t.dtype) || kept) continue;
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
