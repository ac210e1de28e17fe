#include "compiler/import/quantised.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/reduction.h"
#include "ir/element.h"

namespace assay::import {
using ir::DType;
using ir::number;
using ir::Scalar;

void require_bytes(const Context& c, int tensor) {
  const DType t = c.tensor(tensor).dtype;
  if (t != DType::i8 && t != DType::u8)
    refuse(fmt::format("{} holds {}, expected i8 or u8", c.tensor(tensor).name, ir::name_of(t)));
}

namespace {

bool is_one(const Shape& s) {
  return std::all_of(s.begin(), s.end(), [](int64_t e) { return e == 1; });
}

void check_operand(const Context& c, const WholeOperand& o, int64_t kept) {
  require_bytes(c, o.tensor);
  if (o.zero < 0) return;
  require_bytes(c, o.zero);
  const Shape& s = c.shape(o.zero);
  if (!is_one(s) && ir::elements(c.tensor(o.zero)) != kept)
    refuse(fmt::format("a zero point of shape [{}], expected one number or {}", fmt::join(s, ", "),
                       kept));
}

// The zero point where it is one constant number; nullopt: it is not.
std::optional<double> plain_zero(const Context& c, const WholeOperand& o) {
  return o.zero < 0 ? 0 : c.single(o.zero);
}

// x - zero in i32; `axis` is that of several zero points.
int shifted(Context& c, const WholeOperand& o, size_t axis, std::string suffix) {
  const Shape shape = c.shape(o.tensor);
  Expression e = pointwise("shift", shape, DType::i32, std::move(suffix));
  e.reads = {plain_read(o.tensor, identity_index(shape.size()))};
  std::vector<ir::Index> at(c.shape(o.zero).size(), ir::constant(0));
  if (!is_one(c.shape(o.zero))) at.back() = ir::variable(static_cast<int>(axis));
  e.reads.push_back(plain_read(o.zero, std::move(at)));
  e.body = sub(ir::read(0), ir::read(1));
  const int out = c.emit(std::move(e));
  c.whole.insert(out);
  return out;
}

// Which index along `axis` element i of a tensor has.
int64_t index_along(const Shape& shape, size_t axis, int64_t i) {
  for (size_t d = shape.size(); d-- > axis + 1;) i /= shape[d];
  return i % shape[axis];
}

// A constant w - zero as i8; -1: w or the zero point is no constant, or i8 does not hold it.
int shifted_constant(Context& c, const WholeOperand& o, size_t axis) {
  if (!c.is_constant(o.tensor) || (o.zero >= 0 && !c.is_constant(o.zero))) return -1;
  std::vector<double> w = c.numbers(o.tensor);
  const std::vector<double> z = o.zero < 0 ? std::vector<double>{0} : c.numbers(o.zero);
  if (std::all_of(z.begin(), z.end(), [](double v) { return v == 0; })) return o.tensor;
  const Shape shape = c.shape(o.tensor);
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] -= z.size() == 1
                ? z[0]
                : z[static_cast<size_t>(index_along(shape, axis, static_cast<int64_t>(i)))];
    if (w[i] < -128 || w[i] > 127) return -1;
  }
  return c.add_numbers(DType::i8, shape, w, "shifted");
}

// factor * the sum of a constant over all axes but `axis`, plus `bias`, along that axis.
int column_sums(Context& c, int w, size_t axis, double factor, int bias) {
  const Shape shape = c.shape(w);
  const std::vector<double> values = c.numbers(w);
  std::vector<double> sums(static_cast<size_t>(shape[axis]), 0);
  for (size_t i = 0; i < values.size(); ++i)
    sums[static_cast<size_t>(index_along(shape, axis, static_cast<int64_t>(i)))] += values[i];
  for (double& s : sums) s *= factor;
  if (bias >= 0) {
    const std::vector<double> more = c.numbers(bias);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += more[more.size() == 1 ? 0 : i];
  }
  for (double& s : sums) s = std::clamp(s, -2147483648.0, 2147483647.0);
  const int out = c.add_numbers(DType::i32, {shape[axis]}, sums, "offset");
  c.whole.insert(out);
  return out;
}

// y + offset along an axis of y, in i32.
int with_offset(Context& c, int y, int offset, size_t axis) {
  if (offset < 0) return y;
  const Shape shape = c.shape(y);
  const Shape& os = c.shape(offset);
  if (!is_one(os) && ir::elements(c.tensor(offset)) != shape[axis])
    refuse(fmt::format("the bias has shape [{}], expected [{}]", fmt::join(os, ", "), shape[axis]));
  Expression e = pointwise("bias", shape, DType::i32, "offset");
  std::vector<ir::Index> at(os.size(), ir::constant(0));
  if (!is_one(os)) at.back() = ir::variable(static_cast<int>(axis));
  e.reads = {plain_read(y, identity_index(shape.size())), plain_read(offset, std::move(at))};
  e.body = add(ir::read(0), ir::read(1));
  c.whole.insert(offset);
  const int out = c.emit(std::move(e));
  c.whole.insert(out);
  return out;
}

// y + factor * sums, which are broadcast, in i32.
int plus_sums(Context& c, int y, int sums, double factor, const char* suffix) {
  const Shape shape = c.shape(y);
  Expression e = pointwise("correct", shape, DType::i32, suffix);
  e.reads = {plain_read(y, identity_index(shape.size())),
             plain_read(sums, broadcast_index(c.shape(sums), shape))};
  e.body = add(ir::read(0), mul(ir::read(1), number(factor)));
  const int out = c.emit(std::move(e));
  c.whole.insert(out);
  return out;
}

// The sum over a dimension, which stays with extent 1.
int summed(Context& c, int x, size_t axis, const char* op) {
  Reduction r{op, ir::Combiner::sum, ir::read(0)};
  r.dtype = DType::i32;
  r.keep = true;
  const int out = reduce(c, x, {axis}, std::move(r)).tensor;
  c.whole.insert(out);
  return out;
}

}  // namespace

int whole_convolution(Context& c, WholeOperand x, WholeOperand w, int bias) {
  check_operand(c, x, 1);
  const int64_t filters = c.shape(w.tensor).empty() ? 1 : c.shape(w.tensor)[0];
  check_operand(c, w, filters);
  const int plain = shifted_constant(c, w, 0);
  const std::optional<double> zero = plain_zero(c, x);
  if (plain >= 0 && zero && (bias < 0 || c.is_constant(bias))) {
    const int offset = *zero != 0 ? column_sums(c, plain, 0, -*zero, bias) : bias;
    return with_offset(c, convolution(c, x.tensor, plain, -1, DType::i32, *zero), offset, 1);
  }
  const int left = x.zero < 0 || zero == 0.0 ? x.tensor : shifted(c, x, 0, "input"),
            right = plain >= 0   ? plain
                    : w.zero < 0 ? w.tensor
                                 : shifted(c, w, 0, "weights");
  return with_offset(c, convolution(c, left, right, -1, DType::i32, 0), bias, 1);
}

int whole_product(Context& c, WholeOperand a, WholeOperand b, int bias) {
  const Shape sa = c.shape(a.tensor), sb = c.shape(b.tensor);
  if (sa.empty() || sb.empty()) refuse("a scalar has no matrix product");
  const size_t columns = sb.size() - 1, rows = sa.size() < 2 ? 0 : sa.size() - 2,
               summed_b = sb.size() < 2 ? 0 : sb.size() - 2;
  check_operand(c, a, sa.size() < 2 ? 1 : sa[rows]);
  check_operand(c, b, sb.size() < 2 ? 1 : sb[columns]);
  const int plain = sb.size() < 2 ? -1 : shifted_constant(c, b, columns);
  const std::optional<double> za = plain_zero(c, a), zb = plain >= 0 ? 0 : plain_zero(c, b);
  const auto multiply = [&](int left, int right) {
    return product(c, plain_view(c, left), plain_view(c, right), 1, "product", DType::i32);
  };
  const bool matrices = sa.size() >= 2 && sb.size() >= 2;
  if (!za || !zb || (!matrices && (*za != 0 || *zb != 0))) {  // each element is shifted
    const int left = za == 0.0 ? a.tensor : shifted(c, a, rows, "left"),
              right = plain >= 0  ? plain
                      : zb == 0.0 ? b.tensor
                                  : shifted(c, b, columns, "right");
    const int y = multiply(left, right);
    return with_offset(c, y, bias, c.shape(y).empty() ? 0 : c.shape(y).size() - 1);
  }
  const int right = plain >= 0 ? plain : b.tensor;
  int y = multiply(a.tensor, right);
  const size_t last = c.shape(y).empty() ? 0 : c.shape(y).size() - 1;
  if (*za != 0 && plain >= 0 && sb.size() == 2 && (bias < 0 || c.is_constant(bias)))
    return with_offset(c, y, column_sums(c, plain, columns, -*za, bias), last);
  if (*za != 0) y = plus_sums(c, y, summed(c, right, summed_b, "column_sum"), -*za, "left_zero");
  if (*zb != 0) y = plus_sums(c, y, summed(c, a.tensor, rows + 1, "row_sum"), -*zb, "right_zero");
  if (*za != 0 && *zb != 0) {
    const Shape shape = c.shape(y);
    Expression e = pointwise("correct", shape, DType::i32, "zeros");
    e.reads = {plain_read(y, identity_index(shape.size()))};
    e.body = add(ir::read(0), number(static_cast<double>(sa.back()) * *za * *zb));
    y = c.emit(std::move(e));
    c.whole.insert(y);
  }
  return with_offset(c, y, bias, last);
}

namespace {

// The product of the factors in f32; several numbers lie along one dimension.
int combined_factor(Context& c, const std::vector<int>& times, const std::vector<int>& over) {
  std::vector<int> all = times;
  all.insert(all.end(), over.begin(), over.end());
  Shape shape;
  for (const int t : all)
    if (!is_one(c.shape(t))) shape = {ir::elements(c.tensor(t))};
  const auto constant = [&](int t) { return c.is_constant(t); };
  if (std::all_of(all.begin(), all.end(), constant)) {
    std::vector<double> out(shape.empty() ? 1 : static_cast<size_t>(shape[0]), 1);
    for (size_t k = 0; k < all.size(); ++k) {
      const std::vector<double> v = c.numbers(all[k]);
      for (size_t i = 0; i < out.size(); ++i) {
        const double f = v[v.size() == 1 ? 0 : i];
        out[i] = ir::rounded(DType::f32, k < times.size() ? out[i] * f : out[i] / f);
      }
    }
    return c.add_numbers(DType::f32, shape, out, "factor");
  }
  Expression e = pointwise("factor", shape, DType::f32, "factor");
  for (size_t k = 0; k < all.size(); ++k) {
    std::vector<ir::Index> at(c.shape(all[k]).size(), ir::constant(0));
    if (!is_one(c.shape(all[k]))) at.back() = ir::variable(0);
    e.reads.push_back(plain_read(all[k], std::move(at)));
    const Scalar r = ir::read(static_cast<int>(k));
    e.body = k == 0 ? r : k < times.size() ? mul(std::move(e.body), r) : div(std::move(e.body), r);
  }
  return c.emit(std::move(e));
}

}  // namespace

int rescaled(Context& c, int x, const std::vector<int>& times, const std::vector<int>& over,
             int axis, std::string suffix) {
  const int factor = combined_factor(c, times, over);
  const Shape shape = c.shape(x), fs = c.shape(factor);
  if (!is_one(fs) && (axis < 0 || fs[0] != shape[static_cast<size_t>(axis)]))
    refuse(fmt::format("scales of shape [{}] for a result of shape [{}]", fmt::join(fs, ", "),
                       fmt::join(shape, ", ")));
  Expression e = pointwise("scale", shape, DType::f32, std::move(suffix));
  e.reads = {plain_read(x, identity_index(shape.size()))};
  if (const auto one = c.single(factor)) {
    e.body = mul(ir::read(0), number(*one));
  } else {
    std::vector<ir::Index> at(fs.size(), ir::constant(0));
    if (!is_one(fs)) at.back() = ir::variable(axis);
    e.reads.push_back(plain_read(factor, std::move(at)));
    e.body = mul(ir::read(0), ir::read(1));
  }
  return c.emit(std::move(e));
}

int quantised(Context& c, int x, int zero, DType type, std::string suffix) {
  const Shape shape = c.shape(x);
  if (zero >= 0) {
    require_bytes(c, zero);
    type = c.tensor(zero).dtype;
    if (!is_one(c.shape(zero)))
      refuse(fmt::format("a zero point of shape [{}] of the result, expected one number",
                         fmt::join(c.shape(zero), ", ")));
  }
  Expression e = pointwise("quantise", shape, type, std::move(suffix));
  e.reads = {plain_read(x, identity_index(shape.size()))};
  Scalar value = rounded(ir::read(0));
  if (zero >= 0) {
    if (const auto one = c.single(zero)) {
      if (*one != 0) value = add(std::move(value), number(*one));
    } else {
      e.reads.push_back(
          plain_read(zero, std::vector<ir::Index>(c.shape(zero).size(), ir::constant(0))));
      value = add(std::move(value), ir::read(1));
    }
  }
  e.body = std::move(value);
  return c.emit(std::move(e));
}

Scalar dequantised_operand(Context& c, int q, int scale, int zero, const Shape& to,
                           std::vector<ir::Read>& reads) {
  require_bytes(c, q);
  const auto one = [&](int t) -> Scalar {
    if (!is_one(c.shape(t)))
      refuse(fmt::format("scale and zero point are one number each, found shape [{}]",
                         fmt::join(c.shape(t), ", ")));
    if (const auto v = c.single(t)) return number(*v);
    reads.push_back(plain_read(t, std::vector<ir::Index>(c.shape(t).size(), ir::constant(0))));
    return ir::read(static_cast<int>(reads.size()) - 1);
  };
  reads.push_back(plain_read(q, broadcast_index(c.shape(q), to)));
  Scalar x = ir::read(static_cast<int>(reads.size()) - 1);
  if (zero >= 0) x = sub(std::move(x), one(zero));
  return mul(std::move(x), one(scale));
}

int swapped(Context& c, int matrix) {
  if (!c.is_constant(matrix)) return transposed(c, matrix, {1, 0});
  const Shape shape = c.shape(matrix);
  const std::vector<double> values = c.numbers(matrix);
  std::vector<double> out(values.size());
  const auto rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) out[j * rows + i] = values[i * columns + j];
  return c.add_numbers(c.tensor(matrix).dtype, {shape[1], shape[0]}, out, "swapped");
}

}  // namespace assay::import
