// Sines, cosines, tangents and their inverses from the operations that kernels have.
//
// Sine: x = k pi + r, |r| <= pi/2, sin(x) = (-1)^k sin(r); pi is subtracted in three parts whose
// products with k are exact as f32 (Cody and Waite, Software manual for the elementary functions,
// 1980), for |x| up to about 10^4; sin(r) is its Taylor series. Arctangent: its angle is halved
// three times,
//   atan(x) = 2 atan(x / (1 + sqrt(1 + x^2)))
// then the series at no more than tan(pi/16) is short.
#include <array>
#include <numbers>
#include <span>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;
using ir::ScalarOp;
using std::numbers::pi;

int emit_over(Context& c, int x, const char* op, const char* suffix, Scalar body, int other = -1) {
  Expression e = pointwise(op, c.shape(x), c.tensor(x).dtype, suffix);
  const std::vector<ir::Index> here = identity_index(c.shape(x).size());
  e.reads = {plain_read(x, here)};
  if (other >= 0) e.reads.push_back(plain_read(other, here));
  e.body = std::move(body);
  return c.emit(std::move(e));
}

// x (c0 + x^2 (c1 + x^2 (c2 + ...))), x being read(0)
Scalar odd_series(std::span<const double> coefficients) {
  const Scalar x = ir::read(0);
  Scalar sum = number(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    sum = add(number(coefficients[i]), mul(mul(x, x), std::move(sum)));
  return mul(x, std::move(sum));
}

// Sine, or cosine: cos(x) = (-1)^(m+1) sin(r) with x = (m + 1/2) pi + r, |r| <= pi/2.
int sine(Context& c, int x, bool cosine) {
  static constexpr std::array kParts = {3.140625, 9.67502593994140625e-4, 1.5099579909783765e-7};
  static constexpr std::array kSeries = {
      1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800};
  const double half = cosine ? 0.5 : 0;
  Scalar turns =
      call(ScalarOp::floor, add(mul(ir::read(0), number(1 / pi)), number(cosine ? 1.0 : 0.5)));
  if (cosine) turns = sub(std::move(turns), number(half));
  const int k = emit_over(c, x, "half_turns", "turns", std::move(turns));
  Scalar rest = ir::read(0);
  for (double part : kParts) rest = sub(std::move(rest), mul(ir::read(1), number(part)));
  const int r = emit_over(c, x, "half_turn_rest", "rest", std::move(rest), k);
  const Scalar turn = add(ir::read(1), number(half));
  const Scalar odd = sub(turn, mul(number(2), call(ScalarOp::floor, mul(turn, number(0.5)))));
  Scalar sign = sub(number(1), mul(number(2), odd));
  return emit_over(c, r, cosine ? "cos" : "sin", cosine ? "cos" : "sin",
                   mul(std::move(sign), odd_series(kSeries)), k);
}

Scalar halved(const Scalar& x) {
  return div(x, add(number(1), call(ScalarOp::sqrt, add(number(1), mul(x, x)))));
}

// `factor` * atan(x)
int arctangent(Context& c, int x, double factor) {
  static constexpr std::array kSeries = {1.0, -1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11};
  for (const char* suffix : {"half", "quarter", "eighth"})
    x = emit_over(c, x, "half_angle", suffix, halved(ir::read(0)));
  return emit_over(c, x, "atan", "atan", mul(number(8 * factor), odd_series(kSeries)));
}

// asin(x) = 2 atan(x / (1 + sqrt(1 - x^2)))
int arcsine(Context& c, int x) {
  const Scalar v = ir::read(0);
  Scalar tangent = div(v, add(number(1), call(ScalarOp::sqrt, sub(number(1), mul(v, v)))));
  return arctangent(c, emit_over(c, x, "half_angle", "tangent", std::move(tangent)), 2);
}

}  // namespace

void import_sin(Context& c) { c.bind(0, sine(c, c.input(0), false)); }
void import_cos(Context& c) { c.bind(0, sine(c, c.input(0), true)); }

void import_tan(Context& c) {
  const int x = c.input(0), sines = sine(c, x, false), cosines = sine(c, x, true);
  c.bind(0, emit_over(c, sines, "tan", "", div(ir::read(0), ir::read(1)), cosines));
}

void import_atan(Context& c) { c.bind(0, arctangent(c, c.input(0), 1)); }
void import_asin(Context& c) { c.bind(0, arcsine(c, c.input(0))); }
void import_acos(Context& c) {
  c.bind(0, emit_over(c, arcsine(c, c.input(0)), "acos", "", sub(number(pi / 2), ir::read(0))));
}

}  // namespace assay::import
