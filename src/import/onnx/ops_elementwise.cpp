// Elementwise operators: a table from operator to the body's formula.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "import/onnx/indexing.h"
#include "import/onnx/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;
using ir::number;
using ir::Scalar;
using ir::ScalarOp;

Scalar zero_below(Scalar x) { return max(std::move(x), number(0)); }
Scalar clamp01(Scalar x) { return max(number(0), min(number(1), std::move(x))); }
Scalar choose(Scalar condition, Scalar yes, Scalar no) {
  return ir::apply(ScalarOp::select, {std::move(condition), std::move(yes), std::move(no)});
}
Scalar is_negative(const Scalar& x) { return ir::apply(ScalarOp::less, {x, number(0)}); }

Scalar hard_sigmoid(const Context& c, Scalar x) {
  const double alpha = c.float_attribute("alpha", 0.2), beta = c.float_attribute("beta", 0.5);
  return clamp01(add(mul(number(alpha), std::move(x)), number(beta)));
}

// approximate = none: x/2 (1 + erf(x / sqrt 2)); tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
Scalar gelu(const Context& c, Scalar x) {
  Scalar inner;
  if (c.string_attribute("approximate", "none") == "tanh") {
    Scalar cubic = mul(number(0.044715), mul(x, mul(x, x)));
    inner = call(ScalarOp::tanh, mul(number(std::sqrt(2 / std::numbers::pi)), add(x, std::move(cubic))));
  } else {
    inner = call(ScalarOp::erf, mul(x, number(1 / std::numbers::sqrt2)));
  }
  return mul(mul(number(0.5), x), add(number(1), std::move(inner)));
}

// max(x, 0) + log(1 + exp(-|x|)): does not overflow.
Scalar softplus(Scalar x) {
  Scalar tail = call(ScalarOp::exp, call(ScalarOp::neg, call(ScalarOp::abs, x)));
  return add(zero_below(x), call(ScalarOp::log, add(number(1), std::move(tail))));
}

using Unary = Scalar (*)(const Context&, Scalar);

struct UnaryRow {
  std::string_view op_type;
  std::string_view op;
  Unary body;
};

constexpr std::array<UnaryRow, 20> kUnary = {{
    {"Abs", "abs", [](const Context&, Scalar x) { return call(ScalarOp::abs, std::move(x)); }},
    {"Ceil", "ceil", [](const Context&, Scalar x) { return call(ScalarOp::ceil, std::move(x)); }},
    {"Elu", "elu",
     [](const Context& c, Scalar x) {
       Scalar below = mul(number(c.float_attribute("alpha", 1)), sub(call(ScalarOp::exp, x), number(1)));
       return choose(is_negative(x), std::move(below), x);
     }},
    {"Erf", "erf", [](const Context&, Scalar x) { return call(ScalarOp::erf, std::move(x)); }},
    {"Exp", "exp", [](const Context&, Scalar x) { return call(ScalarOp::exp, std::move(x)); }},
    {"Floor", "floor", [](const Context&, Scalar x) { return call(ScalarOp::floor, std::move(x)); }},
    {"Gelu", "gelu", [](const Context& c, Scalar x) { return gelu(c, std::move(x)); }},
    {"HardSigmoid", "hard_sigmoid", [](const Context& c, Scalar x) { return hard_sigmoid(c, std::move(x)); }},
    {"HardSwish", "hard_swish",
     [](const Context&, Scalar x) { return mul(x, clamp01(add(mul(number(1.0 / 6), x), number(0.5)))); }},
    {"LeakyRelu", "leaky_relu",
     [](const Context& c, Scalar x) {
       return choose(is_negative(x), mul(number(c.float_attribute("alpha", static_cast<double>(0.01F))), x), x);
     }},
    {"Log", "log", [](const Context&, Scalar x) { return call(ScalarOp::log, std::move(x)); }},
    {"Neg", "neg", [](const Context&, Scalar x) { return call(ScalarOp::neg, std::move(x)); }},
    {"Not", "not", [](const Context&, Scalar x) { return ir::apply(ScalarOp::equal, {std::move(x), number(0)}); }},
    {"Reciprocal", "reciprocal", [](const Context&, Scalar x) { return div(number(1), std::move(x)); }},
    {"Relu", "relu", [](const Context&, Scalar x) { return zero_below(std::move(x)); }},
    {"Sigmoid", "sigmoid",
     [](const Context&, Scalar x) {
       return div(number(1), add(number(1), call(ScalarOp::exp, call(ScalarOp::neg, std::move(x)))));
     }},
    {"Softplus", "softplus", [](const Context&, Scalar x) { return softplus(std::move(x)); }},
    {"Sqrt", "sqrt", [](const Context&, Scalar x) { return call(ScalarOp::sqrt, std::move(x)); }},
    {"Tanh", "tanh", [](const Context&, Scalar x) { return call(ScalarOp::tanh, std::move(x)); }},
    {"Identity", "copy", [](const Context&, Scalar x) { return x; }},
}};

Scalar both(ScalarOp op, Scalar a, Scalar b) { return ir::apply(op, {std::move(a), std::move(b)}); }

// Any non-zero value counts as true: not equal to 0.
Scalar truth(Scalar x) { return choose(std::move(x), number(1), number(0)); }

using Binary = Scalar (*)(Scalar, Scalar);

struct BinaryRow {
  std::string_view op_type;
  std::string_view op;
  Binary body;
  bool logical = false;  // the output is boolean
};

constexpr std::array<BinaryRow, 10> kBinary = {{
    {"Add", "add", [](Scalar a, Scalar b) { return add(std::move(a), std::move(b)); }},
    {"Sub", "sub", [](Scalar a, Scalar b) { return sub(std::move(a), std::move(b)); }},
    {"Mul", "mul", [](Scalar a, Scalar b) { return mul(std::move(a), std::move(b)); }},
    {"Div", "div", [](Scalar a, Scalar b) { return div(std::move(a), std::move(b)); }},
    {"Pow", "pow", [](Scalar a, Scalar b) { return both(ScalarOp::pow, std::move(a), std::move(b)); }},
    {"Less", "less", [](Scalar a, Scalar b) { return both(ScalarOp::less, std::move(a), std::move(b)); }, true},
    {"Greater", "greater", [](Scalar a, Scalar b) { return both(ScalarOp::less, std::move(b), std::move(a)); }, true},
    {"Equal", "equal", [](Scalar a, Scalar b) { return both(ScalarOp::equal, std::move(a), std::move(b)); }, true},
    {"And", "and", [](Scalar a, Scalar b) { return mul(truth(std::move(a)), truth(std::move(b))); }, true},
    {"Or", "or", [](Scalar a, Scalar b) { return max(truth(std::move(a)), truth(std::move(b))); }, true},
}};

template <class Row, size_t n>
const Row& row_of(const std::array<Row, n>& rows, const std::string& op_type) {
  for (const Row& row : rows)
    if (row.op_type == op_type) return row;
  refuse("the operator's formula is missing");
}

void require_float(const Context& c, int x) {
  if (ir::is_integer(c.tensor(x).dtype) && !c.is_constant(x))
    refuse(fmt::format("{} holds {}, only floating point is computed at run time", c.tensor(x).name,
                       ir::name_of(c.tensor(x).dtype)));
}

void require_same_type(const Context& c, int a, int b) {
  if (c.tensor(a).dtype != c.tensor(b).dtype)
    refuse(fmt::format("operands of types {} and {}", ir::name_of(c.tensor(a).dtype), ir::name_of(c.tensor(b).dtype)));
}

// Before opset 7: with broadcast = 1 the second operand is aligned at `axis` (default: the end).
Shape aligned(const Context& c, const Shape& a, const Shape& b) {
  if (c.opset >= 7 || c.int_attribute("broadcast", 0) == 0 || !c.has_attribute("axis")) return b;
  const size_t axis = normal_axis(c.int_attribute("axis", 0), a.size());
  if (axis + b.size() > a.size()) refuse("the second operand does not fit at the broadcast axis");
  Shape wide = b;
  wide.resize(a.size() - axis, 1);
  return wide;
}

// Reads `tensor`, seen as `shape` (its own with ones appended), at the broadcast point.
Scalar operand(const Context& c, int tensor, const Shape& seen, const Shape& to, std::vector<ir::Read>& reads) {
  if (seen == c.shape(tensor)) return broadcast_operand(c, tensor, to, reads);
  std::vector<ir::Index> index = broadcast_index(seen, to);
  index.resize(c.shape(tensor).size());
  reads.push_back(plain_read(tensor, std::move(index)));
  return ir::read(static_cast<int>(reads.size()) - 1);
}

Expression elementwise(std::string_view op, const Shape& shape, DType dtype) {
  Expression e;
  e.op = op;
  e.spatial = axes_for(shape);
  e.dtype = dtype;
  return e;
}

}  // namespace

void import_unary(Context& c) {
  const int x = c.input(0);
  require_float(c, x);
  const UnaryRow& row = row_of(kUnary, c.node().op_type());
  Expression e = elementwise(row.op, c.shape(x), c.tensor(x).dtype);
  e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
  e.body = row.body(c, ir::read(0));
  c.bind(0, c.emit(std::move(e)));
}

void import_binary(Context& c) {
  const int a = c.input(0), b = c.input(1);
  require_float(c, a);
  require_float(c, b);
  const BinaryRow& row = row_of(kBinary, c.node().op_type());
  if (row.op_type != "Pow") require_same_type(c, a, b);
  const Shape seen = aligned(c, c.shape(a), c.shape(b));
  const Shape out = broadcast(c.shape(a), seen);
  Expression e = elementwise(row.op, out, row.logical ? DType::boolean : c.tensor(a).dtype);
  Scalar left = broadcast_operand(c, a, out, e.reads);
  Scalar right = operand(c, b, seen, out, e.reads);
  e.body = row.body(std::move(left), std::move(right));
  c.bind(0, c.emit(std::move(e)));
}

// Sum, Mean, Max, Min of one or more operands.
void import_variadic(Context& c) {
  const std::string& op_type = c.node().op_type();
  const int first = c.input(0);
  if (c.input_count() > 128) refuse("more than 128 operands");
  Shape out = c.shape(first);
  for (int i = 0; i < c.input_count(); ++i) {
    require_float(c, c.input(i));
    require_same_type(c, first, c.input(i));
    out = broadcast(out, c.shape(c.input(i)));
  }
  const bool sums = op_type == "Sum" || op_type == "Mean";
  Expression e = elementwise(sums ? "add" : op_type == "Max" ? "max" : "min", out, c.tensor(first).dtype);
  e.body = broadcast_operand(c, first, out, e.reads);
  for (int i = 1; i < c.input_count(); ++i) {
    Scalar next = broadcast_operand(c, c.input(i), out, e.reads);
    e.body = sums ? add(std::move(e.body), std::move(next))
                  : both(op_type == "Max" ? ScalarOp::max : ScalarOp::min, std::move(e.body), std::move(next));
  }
  if (op_type == "Mean") e.body = mul(std::move(e.body), number(1.0 / c.input_count()));
  c.bind(0, c.emit(std::move(e)));
}

namespace {

// A bound of Clip: an attribute before opset 11, then an optional input.
std::optional<double> clip_bound(const Context& c, int input, const char* attribute) {
  if (c.opset < 11) {
    if (!c.has_attribute(attribute)) return std::nullopt;
    return c.float_attribute(attribute, 0);
  }
  if (!c.has_input(input)) return std::nullopt;
  const std::optional<double> value = c.single(c.input(input));
  if (!value) refuse(fmt::format("{} must be a constant with one element", attribute));
  return value;
}

}  // namespace

void import_clip(Context& c) {
  const int x = c.input(0);
  require_float(c, x);
  Expression e = elementwise("clip", c.shape(x), c.tensor(x).dtype);
  e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
  e.body = ir::read(0);
  const std::optional<double> low = clip_bound(c, 1, "min"), high = clip_bound(c, 2, "max");
  if (low) e.body = max(std::move(e.body), number(*low));
  if (high) e.body = min(std::move(e.body), number(*high));
  c.bind(0, c.emit(std::move(e)));
}

void import_where(Context& c) {
  const int condition = c.input(0), yes = c.input(1), no = c.input(2);
  for (int id : {condition, yes, no}) require_float(c, id);
  require_same_type(c, yes, no);
  const Shape out = broadcast(c.shape(condition), broadcast(c.shape(yes), c.shape(no)));
  Expression e = elementwise("where", out, c.tensor(yes).dtype);
  Scalar test = broadcast_operand(c, condition, out, e.reads);
  Scalar first = broadcast_operand(c, yes, out, e.reads);
  Scalar second = broadcast_operand(c, no, out, e.reads);
  e.body = choose(std::move(test), std::move(first), std::move(second));
  c.bind(0, c.emit(std::move(e)));
}

void import_prelu(Context& c) {
  const int x = c.input(0), slope = c.input(1);
  require_float(c, x);
  const Shape shape = c.shape(x);
  // Before opset 7 a slope of one dimension is per channel.
  Shape seen = c.shape(slope);
  if (c.opset < 7 && seen.size() == 1 && shape.size() > 2) seen.resize(shape.size() - 1, 1);
  if (broadcast(shape, seen) != shape) refuse("the slope can not be broadcast to the input");
  Expression e = elementwise("prelu", shape, c.tensor(x).dtype);
  e.reads = {plain_read(x, identity_index(shape.size()))};
  Scalar factor = operand(c, slope, seen, shape, e.reads);
  e.body = choose(is_negative(ir::read(0)), mul(std::move(factor), ir::read(0)), ir::read(0));
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
