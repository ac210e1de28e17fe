// What ONNX Runtime's quantiser writes beside ONNX's own operators: sums, products, concatenations
// and functions of quantised tensors, and products of floats by quantised weights.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/quantised.h"
#include "compiler/import/reduction.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;
using ir::number;
using ir::Scalar;

// The scalar operand `input`: a number where it is constant.
Scalar one_number(Context& c, int input, std::vector<ir::Read>& reads) {
  const int t = c.input(input);
  if (ir::elements(c.tensor(t)) != 1)
    refuse(fmt::format("operand {} has shape [{}], expected one number", c.tensor(t).name,
                       fmt::join(c.shape(t), ", ")));
  if (const auto v = c.single(t)) return number(*v);
  reads.push_back(plain_read(t, std::vector<ir::Index>(c.shape(t).size(), ir::constant(0))));
  return ir::read(static_cast<int>(reads.size()) - 1);
}

// body / scale, rounded, and the zero point, where these are operands `scale` and `zero`.
int quantise_by(Context& c, Expression e, int scale, int zero) {
  e.body = div(std::move(e.body), one_number(c, scale, e.reads));
  e.body = rounded(e.body);
  e.dtype = DType::u8;
  if (c.has_input(zero)) {
    require_bytes(c, c.input(zero));
    e.dtype = c.tensor(c.input(zero)).dtype;
    e.body = add(std::move(e.body), one_number(c, zero, e.reads));
  }
  return c.emit(std::move(e));
}

void bind_quantised(Context& c, Expression e, int scale, int zero) {
  c.bind(0, quantise_by(c, std::move(e), scale, zero));
}

Scalar operand(Context& c, int first, const Shape& to, std::vector<ir::Read>& reads) {
  return dequantised_operand(c, c.input(first), c.input(first + 1), optional_input(c, first + 2),
                             to, reads);
}

void import_pair(Context& c, const char* op, Scalar (*combine)(Scalar, Scalar)) {
  const Shape to = broadcast(c.shape(c.input(0)), c.shape(c.input(3)));
  Expression e = pointwise(op, to, DType::u8);
  Scalar a = operand(c, 0, to, e.reads);
  e.body = combine(std::move(a), operand(c, 3, to, e.reads));
  bind_quantised(c, std::move(e), 6, 7);
}

// Operands x, scale, zero, scale of y, zero of y.
void import_function(Context& c, const char* op, const std::function<Scalar(Scalar)>& f) {
  const Shape to = c.shape(c.input(0));
  Expression e = pointwise(op, to, DType::u8);
  e.body = f(operand(c, 0, to, e.reads));
  bind_quantised(c, std::move(e), 3, 4);
}

int dequantised(Context& c, int first) {
  const Shape to = c.shape(c.input(first));
  Expression e = pointwise("dequantise", to, DType::f32, "numbers");
  e.body = operand(c, first, to, e.reads);
  return c.emit(std::move(e));
}

int rounded_as(Context& c, int x, int scale, int zero) {
  const Shape to = c.shape(x);
  Expression e = pointwise("quantise", to, DType::u8);
  e.reads = {plain_read(x, identity_index(to.size()))};
  e.body = ir::read(0);
  return quantise_by(c, std::move(e), scale, zero);
}

void bind_rounded(Context& c, int x, int scale, int zero) {
  c.bind(0, rounded_as(c, x, scale, zero));
}

int last_of(const Context& c, int y) { return static_cast<int>(c.shape(y).size()) - 1; }

}  // namespace

namespace {

// The constant number that is operand `input`; 0 where it is left out.
std::optional<double> constant_number(const Context& c, int input) {
  return c.has_input(input) ? c.single(c.input(input)) : 0;
}

double f32(double v) { return ir::rounded(DType::f32, v); }

}  // namespace

// Of constant scales and zero points, as ONNX Runtime: with a and b scaled by their ratios to that
// of the result, and all zero points as one number, which is added before it is rounded.
void import_qlinear_add(Context& c) {
  const std::optional<double> za = constant_number(c, 2), zb = constant_number(c, 5),
                              zc = constant_number(c, 7), sa = c.single(c.input(1)),
                              sb = c.single(c.input(4)), sc = c.single(c.input(6));
  if (!za || !zb || !zc || !sa || !sb || !sc) return import_pair(c, "add", add);
  require_bytes(c, c.input(0));
  require_bytes(c, c.input(3));
  if (c.has_input(7)) require_bytes(c, c.input(7));
  const double ra = f32(*sa / *sc), rb = f32(*sb / *sc), fixed = f32(*zc - (ra * *za + rb * *zb));
  const Shape to = broadcast(c.shape(c.input(0)), c.shape(c.input(3)));
  Expression e = pointwise("add", to, c.has_input(7) ? c.tensor(c.input(7)).dtype : DType::u8);
  e.reads = {plain_read(c.input(0), broadcast_index(c.shape(c.input(0)), to)),
             plain_read(c.input(3), broadcast_index(c.shape(c.input(3)), to))};
  e.body = add(mul(ir::read(0), number(ra)), add(mul(ir::read(1), number(rb)), number(fixed)));
  c.bind(0, c.emit(std::move(e)));
}

void import_qlinear_mul(Context& c) { import_pair(c, "mul", mul); }
void import_qlinear_sigmoid(Context& c) { import_function(c, "sigmoid", sigmoid); }

void import_qlinear_leaky_relu(Context& c) {
  const double alpha = c.float_attribute("alpha", 0.01);
  import_function(c, "leaky_relu", [&](const Scalar& x) {
    return choose(less(x, number(0)), mul(number(alpha), x), x);
  });
}

void import_qlinear_softmax(Context& c) {
  const int x = dequantised(c, 0);
  const size_t rank = c.shape(x).size(), axis = normal_axis(c.int_attribute("axis", -1), rank);
  const bool flattens = c.int_attribute("opset", 13) < 13;
  const std::vector<size_t> axes = flattens ? axes_from(axis, rank) : std::vector<size_t>{axis};
  bind_rounded(c, softmax(c, x, axes), 3, 4);
}

// The sum of the bytes is exact in i32; it is scaled once.
void import_qlinear_global_average_pool(Context& c) {
  const int x = c.input(0);
  const Shape shape = c.shape(x);
  if (shape.size() < 3) refuse("its operand has no spatial dimensions");
  const bool last = c.int_attribute("channels_last", 0) != 0;
  std::vector<size_t> axes = axes_from(last ? 1 : 2, shape.size() - (last ? 1 : 0));
  Reduction r{"pool_sum", ir::Combiner::sum, ir::read(0)};
  r.dtype = DType::i32;
  r.keep = true;
  const int sum = reduce(c, x, axes, std::move(r)).tensor;
  c.whole.insert(sum);
  const Shape to = c.shape(sum);
  Expression e = pointwise("pool", to, DType::u8);
  e.reads = {plain_read(sum, identity_index(to.size()))};
  const double count = count_over(shape, axes);
  Scalar mean = mul(ir::read(0), number(ir::rounded(DType::f32, 1 / count)));
  if (c.has_input(2)) mean = sub(std::move(mean), one_number(c, 2, e.reads));
  e.body = mul(std::move(mean), one_number(c, 1, e.reads));
  bind_quantised(c, std::move(e), 3, 4);
}

// The pool of the numbers, with the attributes of AveragePool.
void import_qlinear_average_pool(Context& c) {
  if (c.int_attribute("channels_last", 0) != 0) refuse("channels_last is not supported");
  const int integers = c.input(0), x = dequantised(c, 0);
  if (!wants_output(c, 0)) refuse("its output has no name");
  const std::string from = c.node().input(0), to = c.node().output(0);
  c.define(from, x);
  import_average_pool(c);
  c.define(from, integers);
  const int mean = *c.value(to);
  c.rename(mean, to + ".numbers");
  const int out = rounded_as(c, mean, 3, 4);
  c.rename(out, to);
  c.define(to, out);
}

// Operands: scale and zero of y, then x, scale and zero of each part.
void import_qlinear_concat(Context& c) {
  if ((c.input_count() - 2) % 3 != 0 || c.input_count() < 5)
    refuse(fmt::format("it has {} operands, expected 2 and three for each part", c.input_count()));
  std::vector<int> parts;
  for (int i = 2; i < c.input_count(); i += 3) parts.push_back(dequantised(c, i));
  const size_t axis = normal_axis(c.int_attribute("axis", 1), c.shape(parts[0]).size());
  bind_rounded(c, concatenated(c, parts, axis), 0, 1);
}

// A, scale, zero, B, scale, zero, C in i32, scale of y, zero of y; without these two y is f32.
void import_qgemm(Context& c) {
  const auto matrix = [&](int i, const char* attribute) {
    const int t = c.input(i);
    if (c.shape(t).size() != 2) refuse("its operands are matrices");
    return c.int_attribute(attribute, 0) != 0 ? swapped(c, t) : t;
  };
  const int a = matrix(0, "transA"), b = matrix(3, "transB");
  const int y =
      whole_product(c, {a, optional_input(c, 2)}, {b, optional_input(c, 5)}, optional_input(c, 6));
  const int alpha = c.add_numbers(DType::f32, {}, {c.float_attribute("alpha", 1)}, "alpha");
  std::vector<int> over;
  if (c.has_input(7)) over.push_back(c.input(7));
  const int scaled = rescaled(c, y, {c.input(1), c.input(4), alpha}, over, last_of(c, y), "scaled");
  c.bind(0, c.has_input(7) ? quantised(c, scaled, optional_input(c, 8), DType::u8, "quantised")
                           : scaled);
}

namespace {

void bind_with_bias(Context& c, int y, int input) {
  c.bind(0, c.has_input(input) ? with_bias(c, y, c.input(input)) : y);
}

}  // namespace

// A, B, scale of A, scale of B, zero of A, zero of B, bias.
void import_matmul_integer_to_float(Context& c) {
  const int y =
      whole_product(c, {c.input(0), optional_input(c, 4)}, {c.input(1), optional_input(c, 5)}, -1);
  bind_with_bias(c, rescaled(c, y, {c.input(2), c.input(3)}, {}, last_of(c, y), "scaled"), 6);
}

// A in f32, B, scale of B, zero of B, bias.
void import_dynamic_quantize_matmul(Context& c) {
  const DynamicallyQuantised a = quantised_dynamically(c, c.input(0));
  const int y = whole_product(c, {a.q, a.zero}, {c.input(1), optional_input(c, 3)}, -1);
  bind_with_bias(c, rescaled(c, y, {a.scale, c.input(2)}, {}, last_of(c, y), "scaled"), 4);
}

// Weights of K x N in blocks along K, of 4 or 8 bits, packed by rows of B: [N][blocks][bytes]. They
// are constants, and become f32 when the model is read.
void import_matmul_n_bits(Context& c) {
  const int64_t k = c.int_attribute("K", 0), n = c.int_attribute("N", 0),
                bits = c.int_attribute("bits", 4), block = c.int_attribute("block_size", 0);
  if ((bits != 4 && bits != 8) || k < 1 || n < 1 || block < 1)
    refuse(
        fmt::format("K {}, N {}, bits {}, block_size {}: expected 4 or 8 bits and positive "
                    "extents",
                    k, n, bits, block));
  for (int i = 1; i < c.input_count(); ++i)
    if (i != 5 && c.has_input(i) && !c.is_constant(c.input(i)))
      refuse(fmt::format("operand {} is no constant", c.tensor(c.input(i)).name));
  if (c.has_input(4)) refuse("g_idx is not supported");
  const int64_t blocks = (k + block - 1) / block, packed = blocks * block * bits / 8,
                zero_bytes = (blocks * bits + 7) / 8;
  const std::vector<std::byte>& raw = c.bytes(c.input(1));
  const std::vector<double> scales = c.numbers(c.input(2));
  const auto fit = [&](size_t have, int64_t want, const char* what) {
    if (static_cast<int64_t>(have) != want)
      refuse(fmt::format("its {} have {} elements, expected {}", what, have, want));
  };
  fit(raw.size(), n * packed, "weights");
  fit(scales.size(), n * blocks, "scales");
  const auto at = [&](const std::vector<std::byte>& from, int64_t row, int64_t row_bytes,
                      int64_t i) {
    const int byte =
        std::to_integer<int>(from[static_cast<size_t>(row * row_bytes + i * bits / 8)]);
    return static_cast<double>(bits == 8 ? byte : byte >> (i % 2 * 4) & 15);
  };
  std::vector<double> zeros(static_cast<size_t>(n * blocks), bits == 4 ? 8 : 128);
  if (c.has_input(3)) {
    const bool whole = c.tensor(c.input(3)).dtype == DType::u8;
    if (!whole) zeros = c.numbers(c.input(3));
    fit(whole ? c.bytes(c.input(3)).size() : zeros.size(), whole ? n * zero_bytes : n * blocks,
        "zero points");
    for (int64_t j = 0; whole && j < n; ++j)
      for (int64_t b = 0; b < blocks; ++b)
        zeros[static_cast<size_t>(j * blocks + b)] = at(c.bytes(c.input(3)), j, zero_bytes, b);
  }
  std::vector<double> w(static_cast<size_t>(k * n));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < k; ++i) {
      const auto b = static_cast<size_t>(j * blocks + i / block);
      w[static_cast<size_t>(i * n + j)] = (at(raw, j, packed, i) - zeros[b]) * scales[b];
    }
  const int weights = c.add_numbers(DType::f32, {k, n}, w, "weights");
  c.remarks.push_back(fmt::format("its weights of {} bits are stored and multiplied as f32", bits));
  const int y = product(c, plain_view(c, c.input(0)), plain_view(c, weights), 1, "product");
  bind_with_bias(c, y, 5);
}

}  // namespace assay::import
