// Products of what DequantizeLinear makes, from the integers.
#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/import/quantised.h"
#include "ir/element.h"

namespace assay::import {

using ir::DType;

namespace {

const Context::Dequantised* found(const Context& c, int tensor) {
  const auto at = c.dequantised.find(tensor);
  return at == c.dequantised.end() ? nullptr : &at->second;
}

bool is_of_bytes(const Context& c, const Context::Dequantised* of) {
  return of != nullptr && ir::bytes_of(c.tensor(of->q).dtype) == 1;
}

// Both operands' records, if products of their integers are scaled behind. Else it is said.
bool are_whole(Context& c, int a, int b, int axis) {
  const Context::Dequantised *left = found(c, a), *right = found(c, b);
  if (!is_of_bytes(c, left) || !is_of_bytes(c, right)) return false;
  const bool fit = left->axis < 0 && (right->axis < 0 || right->axis == axis);
  if (!fit)
    c.remarks.push_back(
        "its quantised operands are multiplied in f32: scales lie along what is summed");
  return fit;
}

// The integers of a bias whose scales are those of the products; -1: it has others.
int whole_bias(const Context& c, int bias, const std::vector<int>& scales) {
  const Context::Dequantised* of = bias < 0 ? nullptr : found(c, bias);
  if (of == nullptr || c.tensor(of->q).dtype != DType::i32 || !c.is_constant(of->q)) return -1;
  if (of->zero >= 0)
    for (const double z : c.numbers(of->zero))
      if (z != 0) return -1;
  const std::vector<double> own = c.numbers(of->scale), x = c.numbers(scales[0]),
                            w = c.numbers(scales[1]);
  constexpr double kNear = 1e-5;  // of what was computed in f32
  for (size_t i = 0; i < std::max(own.size(), w.size()); ++i) {
    const double product = x[0] * w[w.size() == 1 ? 0 : i % w.size()],
                 s = own[own.size() == 1 ? 0 : i % own.size()];
    if (!(std::abs(s - product) <= kNear * std::abs(product))) return -1;
  }
  return of->q;
}

int scaled_product(Context& c, int y, std::vector<int> scales, int axis) {
  const int out = rescaled(c, y, scales, {}, axis, "scaled");
  c.scaled[out] = {y, std::move(scales), axis};
  return out;
}

}  // namespace

std::optional<int> dequantised_convolution(Context& c, int x, int w, int& bias) {
  if (!are_whole(c, x, w, 0)) return std::nullopt;
  const Context::Dequantised left = *found(c, x), right = *found(c, w);
  const int added = whole_bias(c, bias, {left.scale, right.scale});
  if (added >= 0) bias = -1;
  const int y = whole_convolution(c, {left.q, left.zero}, {right.q, right.zero}, added);
  return scaled_product(c, y, {left.scale, right.scale}, 1);
}

std::optional<int> dequantised_product(Context& c, int a, int b, bool transposed, int& bias) {
  const int rank = static_cast<int>(c.shape(b).size());
  if (rank < 2 || c.shape(a).size() < 2 || !are_whole(c, a, b, transposed ? 0 : rank - 1))
    return std::nullopt;
  const Context::Dequantised left = *found(c, a), right = *found(c, b);
  const int added = whole_bias(c, bias, {left.scale, right.scale});
  if (added >= 0) bias = -1;
  const int q = transposed ? swapped(c, right.q) : right.q;
  const int y = whole_product(c, {left.q, left.zero}, {q, right.zero}, added);
  return scaled_product(c, y, {left.scale, right.scale}, static_cast<int>(c.shape(y).size()) - 1);
}

}  // namespace assay::import
