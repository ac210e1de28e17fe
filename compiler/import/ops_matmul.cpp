// MatMul (batched, broadcast over the batch dimensions) and Gemm.
#include <fmt/format.h>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/quantised.h"

namespace assay::import {
namespace {

struct Operand {  // a matrix, or a stack of them
  Shape batch;
  int64_t rows = 1, columns = 1;
  bool vector = false;  // one-dimensional: its row or column of extent 1 is not a dimension
};

Operand operand_of(const Shape& s, bool left) {
  if (s.empty()) refuse("a scalar has no matrix product");
  if (s.size() == 1) return left ? Operand{{}, 1, s[0], true} : Operand{{}, s[0], 1, true};
  return {{s.begin(), s.end() - 2}, s[s.size() - 2], s.back(), false};
}

[[noreturn]] void refuse_inner(int64_t a, int64_t b) {
  refuse(fmt::format("the inner extents {} and {} differ", a, b));
}

}  // namespace

namespace {

Shape shape_of(const Context& c, const View& v) {
  Shape shape;
  for (size_t d : v.order) shape.push_back(c.shape(v.tensor)[d]);
  return shape;
}

ir::Read read_of(const View& v, const std::vector<ir::Index>& index) {
  std::vector<ir::Index> at(index.size());
  for (size_t d = 0; d < index.size(); ++d) at[v.order[d]] = index[d];
  return plain_read(v.tensor, std::move(at));
}

}  // namespace

int product(Context& c, const View& va, const View& vb, double alpha, std::string suffix,
            std::optional<ir::DType> dtype) {
  const Operand a = operand_of(shape_of(c, va), true), b = operand_of(shape_of(c, vb), false);
  if (a.columns != b.rows) refuse_inner(a.columns, b.rows);
  const Shape batch = broadcast(a.batch, b.batch);
  Expression e;
  e.op = "matmul";
  e.suffix = std::move(suffix);
  for (size_t d = 0; d < batch.size(); ++d) e.spatial.push_back({fmt::format("b{}", d), batch[d]});
  std::vector<ir::Index> ia = broadcast_index(a.batch, batch), ib = broadcast_index(b.batch, batch);
  int next = static_cast<int>(batch.size());
  int m = -1, n = -1;
  if (!a.vector) {
    m = next++;
    e.spatial.push_back({"m", a.rows});
  }
  if (!b.vector) {
    n = next++;
    e.spatial.push_back({"n", b.columns});
  }
  e.reduce = {{"k", a.columns}};
  if (m >= 0) ia.push_back(ir::variable(m));
  ia.push_back(ir::variable(next));
  ib.push_back(ir::variable(next));
  if (n >= 0) ib.push_back(ir::variable(n));
  e.reads = {read_of(va, ia), read_of(vb, ib)};
  e.body = mul(ir::read(0), ir::read(1));
  e.combine = ir::Combiner::sum;
  e.dtype = dtype;
  const int y = c.emit(std::move(e));
  if (dtype) c.whole.insert(y);
  if (alpha == 1) return y;
  Expression scaled = pointwise("scale", c.shape(y), c.tensor(y).dtype, "scale");
  scaled.reads = {plain_read(y, identity_index(c.shape(y).size()))};
  scaled.body = mul(ir::read(0), ir::number(alpha));
  return c.emit(std::move(scaled));
}

void import_matmul(Context& c) {
  int bias = -1;
  if (const auto y = dequantised_product(c, c.input(0), c.input(1), false, bias))
    return c.bind(0, *y);
  c.bind(0, product(c, plain_view(c, c.input(0)), plain_view(c, c.input(1)), 1, ""));
}

namespace {

// alpha * product + beta * bias; what is 1 or 0 is left out.
int scale_and_add(Context& c, int product, double alpha, double beta) {
  const Shape shape = c.shape(product);
  const bool biased = c.has_input(2) && beta != 0;
  if (!biased && alpha == 1) return product;
  Expression e;
  e.op = biased ? "bias" : "scale";
  e.suffix = e.op;
  e.spatial = {{"m", shape[0]}, {"n", shape[1]}};
  e.reads = {plain_read(product, identity_index(2))};
  e.body = alpha == 1 ? ir::read(0) : mul(ir::read(0), ir::number(alpha));
  if (biased) {
    const int bias = c.input(2);
    if (c.shape(bias).size() > 2 || broadcast(c.shape(bias), shape) != shape)
      refuse(fmt::format("C of shape [{}] can not be broadcast to [{}]",
                         fmt::join(c.shape(bias), ", "), fmt::join(shape, ", ")));
    ir::Scalar value = broadcast_operand(c, bias, shape, e.reads);
    e.body = add(std::move(e.body),
                 beta == 1 ? std::move(value) : mul(ir::number(beta), std::move(value)));
  }
  return c.emit(std::move(e));
}

}  // namespace

int gemm(Context& c) {
  const int a = c.input(0), b = c.input(1);
  const Shape sa = c.shape(a), sb = c.shape(b);
  if (sa.size() != 2 || sb.size() != 2)
    refuse(fmt::format("A [{}] and B [{}] must be matrices", fmt::join(sa, ", "),
                       fmt::join(sb, ", ")));
  const bool ta = c.int_attribute("transA", 0) != 0, tb = c.int_attribute("transB", 0) != 0;
  const double alpha = c.float_attribute("alpha", 1), beta = c.float_attribute("beta", 1);
  const int64_t k = ta ? sa[0] : sa[1];
  if (k != (tb ? sb[1] : sb[0])) refuse_inner(k, tb ? sb[1] : sb[0]);
  int bias = alpha == 1 && beta == 1 ? optional_input(c, 2) : -1;
  const bool whole = bias >= 0;
  if (const auto y = ta ? std::nullopt : dequantised_product(c, a, b, tb, bias))
    return whole && bias < 0 ? *y : scale_and_add(c, *y, alpha, beta);
  const auto pair = [](int first, int second, bool swapped) {
    return swapped ? std::vector<ir::Index>{ir::variable(second), ir::variable(first)}
                   : std::vector<ir::Index>{ir::variable(first), ir::variable(second)};
  };
  Expression e;
  e.op = "matmul";
  e.spatial = {{"m", ta ? sa[1] : sa[0]}, {"n", tb ? sb[0] : sb[1]}};
  e.reduce = {{"k", k}};
  e.reads = {plain_read(a, pair(0, 2, ta)), plain_read(b, pair(2, 1, tb))};
  e.body = mul(ir::read(0), ir::read(1));
  e.combine = ir::Combiner::sum;
  return scale_and_add(c, c.emit(std::move(e)), alpha, beta);
}

void import_gemm(Context& c) { c.bind(0, gemm(c)); }

}  // namespace assay::import
