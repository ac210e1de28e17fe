// DequantizeLinear, and QuantizeLinear to 8 bits: integers q that stand for the numbers
// (q - zero point) scale. Scale and zero point are one number, one per index along an axis, or one
// per block of indices.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/quantised.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;
using ir::number;
using ir::Scalar;

// Where the element of scale and zero point lies that belongs to a point of x.
std::vector<ir::Index> index_of(const Context& c, const Shape& of, const Shape& x) {
  const int64_t block = c.int_attribute("block_size", 0);
  if (of.empty() || of == Shape{1}) return std::vector<ir::Index>(of.size(), ir::constant(0));
  const size_t axis = normal_axis(c.int_attribute("axis", 1), x.size());
  const auto unfit = [&](const std::string& expected) {
    refuse(fmt::format("a scale of shape [{}] for operands of shape [{}], expected {}",
                       fmt::join(of, ", "), fmt::join(x, ", "), expected));
  };
  if (block == 0) {
    if (of != Shape{x[axis]}) unfit(fmt::format("[{}]", x[axis]));
    return {ir::variable(static_cast<int>(axis))};
  }
  if (block < 0) refuse(fmt::format("its block_size is {}", block));
  Shape blocks = x;
  blocks[axis] = (x[axis] + block - 1) / block;
  if (of != blocks) unfit(fmt::format("[{}]", fmt::join(blocks, ", ")));
  std::vector<ir::Index> index = identity_index(x.size());
  index[axis] = ir::divide(index[axis], block, ranges_of(axes_for(x)));
  return index;
}

// Operand 1 is the scale, operand 2 the zero point, if it has one.
Scalar zero_point(Context& c, std::vector<ir::Read>& reads) {
  const int scale = c.input(1);
  if (!c.has_input(2)) return number(0);
  const int zero = c.input(2);
  const auto is_one = [](const Shape& s) { return s.empty() || s == Shape{1}; };
  const bool both_one = is_one(c.shape(zero)) && is_one(c.shape(scale));  // as a number or a list
  if (c.shape(zero) != c.shape(scale) && !both_one)
    refuse(fmt::format("a zero point of shape [{}] for a scale of shape [{}]",
                       fmt::join(c.shape(zero), ", "), fmt::join(c.shape(scale), ", ")));
  reads.push_back(
      plain_read(zero, both_one ? std::vector<ir::Index>(c.shape(zero).size(), ir::constant(0))
                                : reads[1].index));
  return ir::read(2);
}

bool is_float(DType t) { return !ir::is_integer(t); }

Expression with_operands(Context& c, const char* op, DType to) {
  const int x = c.input(0), scale = c.input(1);
  const Shape& shape = c.shape(x);
  if (!is_float(c.tensor(scale).dtype))
    refuse(fmt::format("the scale holds {}, expected floats", ir::name_of(c.tensor(scale).dtype)));
  Expression e = pointwise(op, shape, to);
  e.reads = {plain_read(x, identity_index(shape.size())),
             plain_read(scale, index_of(c, c.shape(scale), shape))};
  return e;
}

// The attribute output_dtype; 0: it is not given.
std::optional<DType> named_type(const Context& c) {
  const int64_t given = c.int_attribute("output_dtype", 0);
  if (given == 0) return std::nullopt;
  return dtype_of(static_cast<int>(std::clamp<int64_t>(given, -1, 1000)));
}

void require_type(const Context& c, DType type) {
  if (const auto named = named_type(c); named && *named != type)
    refuse(fmt::format("its output_dtype is {}, that of its operands {}", ir::name_of(*named),
                       ir::name_of(type)));
}

// A scaled product of integers, multiplied by the quotient of all scales at once; -1: it is none.
int requantised(Context& c, DType to) {
  const auto of = c.scaled.find(c.input(0));
  const std::optional<double> scale = c.single(c.input(1));
  if (of == c.scaled.end() || !scale || (c.has_input(2) && !c.single(c.input(2)))) return -1;
  const Context::Scaled product = of->second;
  const int y = rescaled(c, product.x, product.times, {c.input(1)}, product.axis, "scaled");
  return quantised(c, y, c.has_input(2) ? c.input(2) : -1, to, "quantised");
}

// Products take the integers, where scale and zero point are known beforehand.
void remember(Context& c, int out) {
  const DType t = c.tensor(c.input(0)).dtype;
  const bool known = c.is_constant(c.input(1)) && (!c.has_input(2) || c.is_constant(c.input(2)));
  const bool fits = t == DType::i8 || t == DType::u8 || t == DType::i32;
  if (!known || !fits || c.int_attribute("block_size", 0) != 0) return;
  const Shape& scale = c.shape(c.input(1));
  const bool one = scale.empty() || scale == Shape{1};
  const size_t rank = c.shape(c.input(0)).size();
  c.dequantised[out] = {c.input(0), c.input(1), c.has_input(2) ? c.input(2) : -1,
                        one ? -1 : static_cast<int>(normal_axis(c.int_attribute("axis", 1), rank))};
}

}  // namespace

void import_dequantize_linear(Context& c) {
  const DType from = c.tensor(c.input(0)).dtype, to = c.tensor(c.input(1)).dtype;
  if (is_float(from) || from == DType::boolean)
    refuse(fmt::format("{} is not dequantised, integers are", ir::name_of(from)));
  if (c.has_input(2) && c.tensor(c.input(2)).dtype != from)
    refuse(fmt::format("a zero point of {} for {}", ir::name_of(c.tensor(c.input(2)).dtype),
                       ir::name_of(from)));
  require_type(c, to);
  Expression e = with_operands(c, "dequantise", to);
  const Scalar zero = zero_point(c, e.reads);
  e.body = mul(sub(ir::read(0), zero), ir::read(1));
  const int out = c.emit(std::move(e));
  c.bind(0, out);
  remember(c, out);
}

// Half a unit goes to the even integer, then the zero point is added. The store limits the sum to
// what the type holds.
void import_quantize_linear(Context& c) {
  const DType to = c.has_input(2) ? c.tensor(c.input(2)).dtype : named_type(c).value_or(DType::u8);
  if (to != DType::u8 && to != DType::i8)
    refuse(fmt::format("quantising to {} is not supported", ir::name_of(to)), "to u8 or i8");
  if (!is_float(c.tensor(c.input(0)).dtype))
    refuse(fmt::format("{} is not quantised, floats are", ir::name_of(c.tensor(c.input(0)).dtype)));
  require_type(c, to);
  if (const int q = requantised(c, to); q >= 0) return c.bind(0, q);
  Expression e = with_operands(c, "quantise", to);
  const Scalar zero = zero_point(c, e.reads);
  e.body = rounded(div(ir::read(0), ir::read(1)));
  if (zero != number(0)) e.body = add(std::move(e.body), zero);
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace assay::import
