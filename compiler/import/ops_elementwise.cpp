// Elementwise operators of two and more operands, with broadcasting.
//
// Elements are f32 when a program runs. Booleans are 0 and 1; integers are exact up to 2^24. What
// an operator means for integers is kept: Div and Mod round as integers do, eight bits wrap around.
#include <fmt/format.h>

#include <array>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;
using ir::number;
using ir::Scalar;
using ir::ScalarOp;

// Any non-zero value counts as true: not equal to 0.
Scalar truth(Scalar x) { return choose(std::move(x), number(1), number(0)); }

Scalar divided(const Context& c, DType t, Scalar a, Scalar b) {
  Scalar quotient = div(std::move(a), std::move(b));
  return ir::is_integer(t) && !c.folds() ? truncated(std::move(quotient)) : quotient;
}

// a - b * q with the quotient rounded down (the sign of b), or with fmod towards zero (the sign of
// a).
Scalar remainder(const Context& c, DType t, Scalar a, Scalar b) {
  const bool fmod = c.int_attribute("fmod", 0) != 0;
  if (!fmod && !ir::is_integer(t)) refuse("floating point operands need fmod = 1");
  if (c.folds() && ir::is_integer(t)) {  // integer division rounds towards zero
    Scalar rest = sub(a, mul(b, div(a, b)));
    if (fmod) return rest;
    return choose(equal(rest, number(0)), rest,
                  choose(equal(less(rest, number(0)), less(b, number(0))), rest, add(rest, b)));
  }
  Scalar quotient = div(a, b);
  return sub(a, mul(b, fmod ? truncated(std::move(quotient))
                            : call(ScalarOp::floor, std::move(quotient))));
}

// Of integers the result is one too, whatever the device's pow rounds to. Squares and cubes, of
// normalisations and GELU, are products, at a fraction of a power's time.
Scalar raised(const Context& c, DType t, Scalar a, Scalar b) {
  if (b.op == ScalarOp::constant && b.value == 2) return mul(a, a);
  if (b.op == ScalarOp::constant && b.value == 3) return mul(mul(a, a), a);
  Scalar result = power(std::move(a), std::move(b));
  if (!ir::is_integer(t) || c.folds()) return result;
  return call(ScalarOp::floor, add(std::move(result), number(0.5)));
}

// Nothing is left of eight bits that are moved by eight and more.
Scalar shifted(const Context& c, DType t, Scalar a, Scalar b) {
  const std::string direction = c.string_attribute("direction", "");
  if (t != DType::u8)
    refuse(fmt::format("bits of {} are not shifted, only those of u8", ir::name_of(t)));
  if (direction != "LEFT" && direction != "RIGHT")
    refuse(fmt::format("direction {} is not known", direction));
  Scalar factor = power(number(2), b);
  Scalar moved = direction == "LEFT" ? mul(std::move(a), std::move(factor))
                                     : call(ScalarOp::floor, div(std::move(a), std::move(factor)));
  return choose(less(std::move(b), number(8)), std::move(moved), number(0));
}

using Binary = Scalar (*)(const Context&, DType, Scalar, Scalar);

template <ScalarOp op>
Scalar plain(const Context&, DType, Scalar a, Scalar b) {
  return ir::apply(op, {std::move(a), std::move(b)});
}

enum class Result { same, boolean };

struct BinaryRow {
  std::string_view op_type;
  std::string_view op;
  Binary body;
  Result result = Result::same;
};

constexpr auto kBinary = std::to_array<BinaryRow>({
    {"Add", "add", plain<ScalarOp::add>},
    {"Sub", "sub", plain<ScalarOp::sub>},
    {"Mul", "mul", plain<ScalarOp::mul>},
    {"Div", "div", divided},
    {"Mod", "mod", remainder},
    {"Pow", "pow", raised},
    {"BitShift", "shift", shifted},
    {"Less", "less", plain<ScalarOp::less>, Result::boolean},
    {"Greater", "greater",
     [](const Context&, DType, Scalar a, Scalar b) { return less(std::move(b), std::move(a)); },
     Result::boolean},
    {"LessOrEqual", "less_equal",
     [](const Context&, DType, Scalar a, Scalar b) { return max(less(a, b), equal(a, b)); },
     Result::boolean},
    {"GreaterOrEqual", "greater_equal",
     [](const Context&, DType, Scalar a, Scalar b) { return max(less(b, a), equal(a, b)); },
     Result::boolean},
    {"Equal", "equal", plain<ScalarOp::equal>, Result::boolean},
    {"And", "and",
     [](const Context&, DType, Scalar a, Scalar b) {
       return mul(truth(std::move(a)), truth(std::move(b)));
     },
     Result::boolean},
    {"Or", "or",
     [](const Context&, DType, Scalar a, Scalar b) {
       return max(truth(std::move(a)), truth(std::move(b)));
     },
     Result::boolean},
    {"Xor", "xor",
     [](const Context&, DType, Scalar a, Scalar b) {
       return equal(equal(truth(std::move(a)), truth(std::move(b))), number(0));
     },
     Result::boolean},
});

const BinaryRow& row_of(const std::string& op_type) {
  for (const BinaryRow& row : kBinary)
    if (row.op_type == op_type) return row;
  refuse("the operator's formula is missing");
}

void require_same_type(const Context& c, int a, int b) {
  if (c.tensor(a).dtype != c.tensor(b).dtype)
    refuse(fmt::format("operands of types {} and {}", ir::name_of(c.tensor(a).dtype),
                       ir::name_of(c.tensor(b).dtype)));
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
Scalar operand(const Context& c, int tensor, const Shape& seen, const Shape& to,
               std::vector<ir::Read>& reads) {
  if (seen == c.shape(tensor)) return broadcast_operand(c, tensor, to, reads);
  std::vector<ir::Index> index = broadcast_index(seen, to);
  index.resize(c.shape(tensor).size());
  reads.push_back(plain_read(tensor, std::move(index)));
  return ir::read(static_cast<int>(reads.size()) - 1);
}

}  // namespace

Scalar wrapped(const Context& c, DType t, Scalar x) {
  if (c.folds() || (t != DType::u8 && t != DType::i8)) return x;
  const double low = t == DType::i8 ? -128 : 0;
  const Scalar above = low == 0 ? x : sub(x, number(low));
  return sub(x, mul(number(256), call(ScalarOp::floor, mul(above, number(1.0 / 256)))));
}

void import_binary(Context& c) {
  const int a = c.input(0), b = c.input(1);
  const BinaryRow& row = row_of(c.node().op_type());
  if (row.op_type != "Pow") require_same_type(c, a, b);
  const DType from = c.tensor(a).dtype;
  const Shape seen = aligned(c, c.shape(a), c.shape(b));
  const Shape out = broadcast(c.shape(a), seen);
  Expression e =
      pointwise(std::string(row.op), out, row.result == Result::boolean ? DType::boolean : from);
  Scalar left = broadcast_operand(c, a, out, e.reads);
  const std::optional<double> exponent =
      row.op_type == "Pow" && !c.folds() ? c.single(b) : std::nullopt;
  Scalar right = exponent ? number(*exponent) : operand(c, b, seen, out, e.reads);
  e.body = row.body(c, from, std::move(left), std::move(right));
  if (row.result == Result::same) e.body = wrapped(c, from, std::move(e.body));
  c.bind(0, c.emit(std::move(e)));
}

// Sum, Mean, Max, Min of one or more operands.
void import_variadic(Context& c) {
  const std::string& op_type = c.node().op_type();
  const int first = c.input(0);
  if (c.input_count() > 128) refuse("more than 128 operands");
  Shape out = c.shape(first);
  for (int i = 0; i < c.input_count(); ++i) {
    require_same_type(c, first, c.input(i));
    out = broadcast(out, c.shape(c.input(i)));
  }
  const bool sums = op_type == "Sum" || op_type == "Mean";
  Expression e = pointwise(sums               ? "add"
                           : op_type == "Max" ? "max"
                                              : "min",
                           out, c.tensor(first).dtype);
  e.body = broadcast_operand(c, first, out, e.reads);
  for (int i = 1; i < c.input_count(); ++i) {
    Scalar next = broadcast_operand(c, c.input(i), out, e.reads);
    e.body = sums               ? add(std::move(e.body), std::move(next))
             : op_type == "Max" ? max(std::move(e.body), std::move(next))
                                : min(std::move(e.body), std::move(next));
  }
  if (op_type == "Mean") e.body = mul(std::move(e.body), number(1.0 / c.input_count()));
  c.bind(0, c.emit(std::move(e)));
}

// The bounds are attributes before opset 11, then optional inputs.
void import_clip(Context& c) {
  const int x = c.input(0);
  Expression e = pointwise("clip", c.shape(x), c.tensor(x).dtype);
  e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
  e.body = ir::read(0);
  const auto bounded = [&](int input, const char* attribute, auto combine) {
    if (c.opset < 11) {
      if (c.has_attribute(attribute))
        e.body = combine(std::move(e.body), number(c.float_attribute(attribute, 0)));
    } else if (c.has_input(input)) {
      const int bound = c.input(input);
      if (ir::elements(c.tensor(bound)) != 1)
        refuse(fmt::format("{} must have one element", attribute));
      e.body = combine(std::move(e.body),
                       broadcast_operand(c, bound, Shape(c.shape(bound).size(), 1), e.reads));
    }
  };
  bounded(1, "min", max);
  bounded(2, "max", min);
  c.bind(0, c.emit(std::move(e)));
}

void import_where(Context& c) {
  const int condition = c.input(0), yes = c.input(1), no = c.input(2);
  require_same_type(c, yes, no);
  const Shape out = broadcast(c.shape(condition), broadcast(c.shape(yes), c.shape(no)));
  Expression e = pointwise("where", out, c.tensor(yes).dtype);
  Scalar test = broadcast_operand(c, condition, out, e.reads);
  Scalar first = broadcast_operand(c, yes, out, e.reads);
  Scalar second = broadcast_operand(c, no, out, e.reads);
  e.body = choose(std::move(test), std::move(first), std::move(second));
  c.bind(0, c.emit(std::move(e)));
}

void import_prelu(Context& c) {
  const int x = c.input(0), slope = c.input(1);
  const Shape shape = c.shape(x);
  // Before opset 7 a slope of one dimension is per channel.
  Shape seen = c.shape(slope);
  if (c.opset < 7 && seen.size() == 1 && shape.size() > 2) seen.resize(shape.size() - 1, 1);
  if (broadcast(shape, seen) != shape) refuse("the slope can not be broadcast to the input");
  Expression e = pointwise("prelu", shape, c.tensor(x).dtype);
  e.reads = {plain_read(x, identity_index(shape.size()))};
  Scalar factor = operand(c, slope, seen, shape, e.reads);
  e.body = choose(less(ir::read(0), number(0)), mul(std::move(factor), ir::read(0)), ir::read(0));
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
