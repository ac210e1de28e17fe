// Elementwise operators of one operand: a table from operator to the body's formula.
#include <array>
#include <cmath>
#include <limits>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;
using ir::number;
using ir::Scalar;
using ir::ScalarOp;

Scalar zero_below(Scalar x) { return max(std::move(x), number(0)); }
Scalar clamp01(Scalar x) { return max(number(0), min(number(1), std::move(x))); }
Scalar is_negative(const Scalar& x) { return less(x, number(0)); }
Scalar exp(Scalar x) { return call(ScalarOp::exp, std::move(x)); }
Scalar log(Scalar x) { return call(ScalarOp::log, std::move(x)); }
Scalar sqrt(Scalar x) { return call(ScalarOp::sqrt, std::move(x)); }
Scalar negated(Scalar x) { return call(ScalarOp::neg, std::move(x)); }
Scalar square(const Scalar& x) { return mul(x, x); }

double alpha_of(const Context& c, double otherwise) {
  return c.float_attribute("alpha", otherwise);
}

Scalar hard_sigmoid(const Context& c, Scalar x) {
  return clamp01(
      add(mul(number(alpha_of(c, 0.2)), std::move(x)), number(c.float_attribute("beta", 0.5))));
}

Scalar gelu(const Context& c, Scalar x) {
  return import::gelu(x, c.string_attribute("approximate", "none") == "tanh");
}

// max(x, 0) + log(1 + exp(-|x|)): does not overflow.
Scalar softplus(const Scalar& x) {
  return add(zero_below(x), log(add(number(1), exp(negated(call(ScalarOp::abs, x))))));
}

Scalar elu(const Context& c, Scalar x) {
  return choose(is_negative(x), mul(number(alpha_of(c, 1)), sub(exp(x), number(1))), x);
}

// max(x, 0) + min(0, alpha (exp(x / alpha) - 1))
Scalar celu(const Context& c, Scalar x) {
  const double alpha = alpha_of(c, 1);
  Scalar below = mul(number(alpha), sub(exp(mul(x, number(1 / alpha))), number(1)));
  return add(zero_below(x), min(number(0), std::move(below)));
}

Scalar selu(const Context& c, Scalar x) {
  const double alpha = alpha_of(c, static_cast<double>(1.67326319217681884765625F));
  const double gamma = c.float_attribute("gamma", static_cast<double>(1.05070102214813232421875F));
  return mul(number(gamma), choose(is_negative(x), mul(number(alpha), sub(exp(x), number(1))), x));
}

Scalar leaky_relu(const Context& c, Scalar x) {
  return choose(is_negative(x), mul(number(alpha_of(c, static_cast<double>(0.01F))), x), x);
}

Scalar shrink(const Context& c, Scalar x) {
  const double lambda = c.float_attribute("lambd", 0.5), bias = c.float_attribute("bias", 0);
  Scalar above = choose(less(number(lambda), x), sub(x, number(bias)), number(0));
  return choose(less(x, number(-lambda)), add(x, number(bias)), std::move(above));
}

Scalar thresholded_relu(const Context& c, Scalar x) {
  return choose(less(number(alpha_of(c, 1)), x), x, number(0));
}

Scalar round(const Context&, Scalar x) { return rounded(x); }

Scalar sign(const Context&, Scalar x) { return sub(less(number(0), x), is_negative(x)); }

Scalar is_inf(const Context& c, Scalar x) {
  const bool positive = c.int_attribute("detect_positive", 1) != 0,
             negative = c.int_attribute("detect_negative", 1) != 0;
  const Scalar top = number(std::numeric_limits<double>::infinity());
  if (positive && negative) return equal(call(ScalarOp::abs, std::move(x)), top);
  if (!positive && !negative) return mul(number(0), equal(x, x));
  return equal(positive ? std::move(x) : negated(std::move(x)), top);
}

using Unary = Scalar (*)(const Context&, Scalar);

template <ScalarOp op>
Scalar plain(const Context&, Scalar x) {
  return call(op, std::move(x));
}

enum class Result { same, boolean };

struct UnaryRow {
  std::string_view op_type;
  std::string_view op;
  Unary body;
  Result result = Result::same;
};

constexpr auto kUnary = std::to_array<UnaryRow>({
    {"Abs", "abs", plain<ScalarOp::abs>},
    {"Acosh", "acosh",
     [](const Context&, Scalar x) { return log(add(x, sqrt(sub(square(x), number(1))))); }},
    {"Asinh", "asinh",
     [](const Context& c, Scalar x) {
       return mul(sign(c, x), log(add(call(ScalarOp::abs, x), sqrt(add(square(x), number(1))))));
     }},
    {"Atanh", "atanh",
     [](const Context&, Scalar x) {
       return mul(number(0.5), log(div(add(number(1), x), sub(number(1), x))));
     }},
    {"Ceil", "ceil", plain<ScalarOp::ceil>},
    {"Celu", "celu", celu},
    {"Cosh", "cosh",
     [](const Context&, Scalar x) { return mul(number(0.5), add(exp(x), exp(negated(x)))); }},
    {"Elu", "elu", elu},
    {"Erf", "erf", plain<ScalarOp::erf>},
    {"Exp", "exp", plain<ScalarOp::exp>},
    {"Floor", "floor", plain<ScalarOp::floor>},
    {"Gelu", "gelu", gelu},
    {"HardSigmoid", "hard_sigmoid", hard_sigmoid},
    {"HardSwish", "hard_swish",
     [](const Context&, Scalar x) {
       return mul(x, clamp01(add(mul(number(1.0 / 6), x), number(0.5))));
     }},
    {"IsInf", "is_inf", is_inf, Result::boolean},
    {"IsNaN", "is_nan", [](const Context&, Scalar x) { return equal(equal(x, x), number(0)); },
     Result::boolean},
    {"LeakyRelu", "leaky_relu", leaky_relu},
    {"Log", "log", plain<ScalarOp::log>},
    {"Mish", "mish",
     [](const Context&, Scalar x) { return mul(x, call(ScalarOp::tanh, softplus(x))); }},
    {"Neg", "neg", plain<ScalarOp::neg>},
    {"Not", "not", [](const Context&, Scalar x) { return equal(std::move(x), number(0)); }},
    {"Reciprocal", "reciprocal",
     [](const Context&, Scalar x) { return div(number(1), std::move(x)); }},
    {"Relu", "relu", [](const Context&, Scalar x) { return zero_below(std::move(x)); }},
    {"Round", "round", round},
    {"Selu", "selu", selu},
    {"Shrink", "shrink", shrink},
    {"Sigmoid", "sigmoid",
     [](const Context&, Scalar x) {
       return div(number(1), add(number(1), exp(negated(std::move(x)))));
     }},
    {"Sign", "sign", sign},
    {"Sinh", "sinh",
     [](const Context&, Scalar x) { return mul(number(0.5), sub(exp(x), exp(negated(x)))); }},
    {"Softplus", "softplus", [](const Context&, Scalar x) { return softplus(x); }},
    {"Softsign", "softsign",
     [](const Context&, Scalar x) { return div(x, add(number(1), call(ScalarOp::abs, x))); }},
    {"Sqrt", "sqrt", plain<ScalarOp::sqrt>},
    {"Swish", "swish",
     [](const Context& c,
        Scalar x) { return div(x, add(number(1), exp(mul(number(-alpha_of(c, 1)), x)))); }},
    {"Tanh", "tanh", plain<ScalarOp::tanh>},
    {"ThresholdedRelu", "thresholded_relu", thresholded_relu},
});

}  // namespace

void import_unary(Context& c) {
  const int x = c.input(0);
  for (const UnaryRow& row : kUnary) {
    if (row.op_type != c.node().op_type()) continue;
    const DType dtype = row.result == Result::boolean ? DType::boolean : c.tensor(x).dtype;
    Expression e = pointwise(std::string(row.op), c.shape(x), dtype);
    e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
    e.body = wrapped(c, dtype, row.body(c, ir::read(0)));
    return c.bind(0, c.emit(std::move(e)));
  }
  refuse("the operator's formula is missing");
}

}  // namespace assay::import
