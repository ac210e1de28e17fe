// Formulas that several operators share, and activations that an operator names.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"

namespace assay::import {

using ir::number;
using ir::Scalar;
using ir::ScalarOp;

Scalar gelu(const Scalar& x, bool with_tanh) {
  Scalar inner;
  if (with_tanh) {
    Scalar cubic = mul(number(0.044715), mul(x, mul(x, x)));
    inner = call(ScalarOp::tanh,
                 mul(number(std::sqrt(2 / std::numbers::pi)), add(x, std::move(cubic))));
  } else {
    inner = call(ScalarOp::erf, mul(x, number(1 / std::numbers::sqrt2)));
  }
  return mul(mul(number(0.5), x), add(number(1), std::move(inner)));
}

Scalar sigmoid(Scalar x) {
  return div(number(1), add(number(1), call(ScalarOp::exp, call(ScalarOp::neg, std::move(x)))));
}

Scalar rounded(const Scalar& x) { return call(ScalarOp::round, x); }

namespace {

Scalar exp_minus_one(const Scalar& x) { return sub(call(ScalarOp::exp, x), number(1)); }

Scalar if_negative(const Scalar& x, Scalar below, Scalar above) {
  return choose(less(x, number(0)), std::move(below), std::move(above));
}

struct Row {
  std::string_view name;
  double alpha, beta, gamma;  // defaults
  Scalar (*formula)(const Scalar& x, double alpha, double beta, double gamma);
};

constexpr double kLargest = 3.4028234663852886e38;  // of f32

constexpr auto kRows = std::to_array<Row>({
    {"Relu", 0, 0, 0, [](const Scalar& x, double, double, double) { return max(x, number(0)); }},
    {"Sigmoid", 0, 0, 0, [](const Scalar& x, double, double, double) { return sigmoid(x); }},
    {"Tanh", 0, 0, 0,
     [](const Scalar& x, double, double, double) { return call(ScalarOp::tanh, x); }},
    {"LeakyRelu", 0.01, 0, 0,
     [](const Scalar& x, double a, double, double) {
       return if_negative(x, mul(number(a), x), x);
     }},
    {"Clip", -kLargest, kLargest, 0,
     [](const Scalar& x, double a, double b, double) { return min(max(x, number(a)), number(b)); }},
    {"HardSigmoid", 0.2, 0.5, 0,
     [](const Scalar& x, double a, double b, double) {
       return max(number(0), min(number(1), add(mul(number(a), x), number(b))));
     }},
    {"HardSwish", 1.0 / 6, 0.5, 0,
     [](const Scalar& x, double a, double b, double) {
       return mul(x, max(number(0), min(number(1), add(mul(number(a), x), number(b)))));
     }},
    {"Elu", 1, 0, 0,
     [](const Scalar& x, double a, double, double) {
       return if_negative(x, mul(number(a), exp_minus_one(x)), x);
     }},
    {"Selu", 1.67326319217681884765625, 0, 1.05070102214813232421875,
     [](const Scalar& x, double a, double, double g) {
       return mul(number(g), if_negative(x, mul(number(a), exp_minus_one(x)), x));
     }},
    {"Softplus", 0, 0, 0,
     [](const Scalar& x, double, double, double) {
       Scalar power = call(ScalarOp::exp, call(ScalarOp::neg, call(ScalarOp::abs, x)));
       return add(max(x, number(0)), call(ScalarOp::log, add(number(1), std::move(power))));
     }},
    {"Softsign", 0, 0, 0,
     [](const Scalar& x, double, double, double) {
       return div(x, add(number(1), call(ScalarOp::abs, x)));
     }},
    {"Affine", 1, 0, 0,
     [](const Scalar& x, double a, double b, double) { return add(mul(number(a), x), number(b)); }},
    {"ScaledTanh", 1, 1, 0,
     [](const Scalar& x, double a, double b,
        double) { return mul(number(a), call(ScalarOp::tanh, mul(number(b), x))); }},
    {"ThresholdedRelu", 1, 0, 0,
     [](const Scalar& x, double a, double,
        double) { return choose(less(number(a), x), x, number(0)); }},
    {"Gelu", 0, 0, 0, [](const Scalar& x, double, double, double) { return gelu(x, false); }},
    {"QuickGelu", 1.702, 0, 0,
     [](const Scalar& x, double a, double, double) { return mul(x, sigmoid(mul(number(a), x))); }},
});

}  // namespace

Scalar activated(const Activation& a, const Scalar& x) {
  for (const Row& row : kRows)
    if (row.name == a.name)
      return row.formula(x, a.alpha.value_or(row.alpha), a.beta.value_or(row.beta),
                         a.gamma.value_or(row.gamma));
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  refuse(fmt::format("activation {} is not known", a.name),
         fmt::format("the activations are {}", fmt::join(names, ", ")));
}

int activated(Context& c, int x, const Activation& a) {
  if (a.name.empty()) return x;
  const Shape shape = c.shape(x);
  Expression e = pointwise("activation", shape, c.tensor(x).dtype, "activation");
  e.reads = {plain_read(x, identity_index(shape.size()))};
  e.body = activated(a, ir::read(0));
  return c.emit(std::move(e));
}

}  // namespace assay::import
