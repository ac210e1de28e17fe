// RotaryEmbedding of ONNX (opset 23) and of ONNX Runtime (com.microsoft): pairs of elements of each
// head are rotated by the angle of their position.
//
//   y[h] = x[h] cos[p, a] - x[partner] sin[p, a]   in the first of a pair, + in the second
//
// The partner is half a head away, or the neighbour when pairs are interleaved.
#include <fmt/format.h>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;

struct Rotation {
  int cos = -1, sin = -1;  // [batch or 1, length or 1, size / 2], one row per position
  bool interleaved = false;
  int64_t size = 0;  // of the part of a head that is rotated
};

// x is [.., head size]; `batch` and `place` are its axes that choose the row.
int rotated(Context& c, int x, const Rotation& r, int batch, int place) {
  const Shape shape = c.shape(x);
  const int64_t half = r.size / 2;
  const int last = static_cast<int>(shape.size()) - 1;
  Expression e = pointwise("rotary", shape, c.tensor(x).dtype, "rotated");
  std::vector<ir::Index> at = identity_index(shape.size());
  const int64_t step = r.interleaved ? 1 : half;
  e.reads = {plain_read(x, at)};
  for (const int64_t offset : {step, -step}) {
    at.back() = ir::variable(last) + offset;
    e.reads.push_back(guarded_read(x, at, 0));
  }
  const ir::Index angle = ir::Index{{ir::Term{1, last, {}, r.interleaved ? 2 : 1, half}}, 0};
  for (const int table : {r.cos, r.sin}) {
    const Shape& s = c.shape(table);
    e.reads.push_back(plain_read(table, {s[0] == 1 ? ir::constant(0) : ir::variable(batch),
                                         s[1] == 1 ? ir::constant(0) : ir::variable(place),
                                         ir::simplify(angle, ranges_of(e.spatial))}));
  }
  const Scalar element = axis_value(static_cast<size_t>(last));
  Scalar first = less(element, number(static_cast<double>(half)));
  if (r.interleaved) {
    const Scalar pairs = mul(element, number(0.5));
    first = equal(call(ir::ScalarOp::floor, pairs), pairs);
  }
  Scalar partner = choose(std::move(first), call(ir::ScalarOp::neg, ir::read(1)), ir::read(2));
  e.body = add(mul(ir::read(0), ir::read(3)), mul(std::move(partner), ir::read(4)));
  if (r.size < shape.back())
    e.body =
        choose(less(element, number(static_cast<double>(r.size))), std::move(e.body), ir::read(0));
  return c.emit(std::move(e));
}

// Rows of a table at the positions, [batch, length, size / 2].
int rows_of(Context& c, int table, int positions) {
  const Shape &t = c.shape(table), &p = c.shape(positions);
  Expression e = pointwise("gather", {p[0], p[1], t[1]}, c.tensor(table).dtype, "rows");
  e.reads = {plain_read(table, {ir::constant(0), ir::variable(2)}),
             plain_read(positions, {ir::variable(0), ir::variable(1)})};
  e.reads[0].lookup = ir::Lookup{0, 1};
  e.body = ir::read(0);
  return c.emit(std::move(e));
}

// [batch, heads, length, size] as it is, [batch, length, heads * size] with heads split.
struct Input {
  int x = -1;
  int place_axis = 2;
  int64_t batch = 1, length = 1, head = 1;
};

Input input_of(Context& c, int x, int64_t heads) {
  const Shape s = c.shape(x);
  if (s.size() == 4) return {x, 2, s[0], s[2], s[3]};
  if (s.size() != 3)
    refuse(fmt::format("the input has shape [{}], expected three or four dimensions",
                       fmt::join(s, ", ")));
  if (heads < 1 || s[2] % heads != 0)
    refuse(fmt::format("attribute num_heads = {} for a last dimension of {}", heads, s[2]));
  const Shape split = {s[0], s[1], heads, s[2] / heads};
  return {reshaped(c, x, split, "heads"), 1, s[0], s[1], split[3]};
}

// The table's rows as [batch or 1, length, size / 2]; positions: -1: the table has them in order.
int angles_of(Context& c, const Input& in, int table, int positions, int64_t half) {
  const Shape s = c.shape(table);
  const auto wrong = [&] {
    refuse(fmt::format("{} has shape [{}], expected rows of {}", c.tensor(table).name,
                       fmt::join(s, ", "), half));
  };
  if (s.empty() || s.back() != half) wrong();
  if (positions < 0) {
    if (s != Shape{in.batch, in.length, half}) wrong();
    return table;
  }
  if (s.size() != 2) wrong();
  return rows_of(c, table, positions);
}

void check_positions(const Context& c, int positions, const Input& in) {
  const Shape& s = c.shape(positions);
  if (!ir::is_integer(c.tensor(positions).dtype) || s != Shape{in.batch, in.length})
    refuse(fmt::format("position_ids has shape [{}], expected integers of shape [{}, {}]",
                       fmt::join(s, ", "), in.batch, in.length));
}

void embed(Context& c, const Input& in, int cos, int sin, int positions) {
  Rotation r;
  r.size = c.int_attribute("rotary_embedding_dim", 0);
  if (r.size == 0) r.size = in.head;
  if (r.size < 2 || r.size % 2 != 0 || r.size > in.head)
    refuse(fmt::format("rotary_embedding_dim = {} of heads of {} elements", r.size, in.head));
  r.interleaved = c.int_attribute("interleaved", 0) != 0;
  r.cos = angles_of(c, in, cos, positions, r.size / 2);
  r.sin = angles_of(c, in, sin, positions, r.size / 2);
  const Shape shape = c.shape(c.input(0));
  c.bind(0, reshaped(c, rotated(c, in.x, r, 0, in.place_axis), shape));
}

}  // namespace

void import_rotary_embedding(Context& c) {
  const Input in = input_of(c, c.input(0), c.int_attribute("num_heads", 0));
  const int positions = optional_input(c, 3);
  if (positions >= 0) check_positions(c, positions, in);
  embed(c, in, c.input(1), c.input(2), positions);
}

namespace {

// The position of the first token, as one of each.
int following(Context& c, int first, int64_t length) {
  Expression e = pointwise("positions", {1, length}, c.tensor(first).dtype, "positions");
  e.reads = {plain_read(first, {ir::constant(0)})};
  e.body = add(ir::read(0), axis_value(1));
  return c.emit(std::move(e));
}

}  // namespace

void import_microsoft_rotary_embedding(Context& c) {
  if (c.int_attribute("is_packed_batching", 0) != 0)
    refuse("is_packed_batching = 1 is not supported");
  if (c.float_attribute("scale", 1) != 1)
    refuse(fmt::format("scale = {} is not supported, only 1", c.float_attribute("scale", 1)));
  const int cos = c.input(2);
  const Shape shape = c.shape(c.input(0));
  int64_t heads = c.int_attribute("num_heads", 0);
  if (heads == 0 && shape.size() == 3 && !c.shape(cos).empty() && c.shape(cos).back() > 0 &&
      c.int_attribute("rotary_embedding_dim", 0) == 0)
    heads = shape[2] / (2 * c.shape(cos).back());
  const Input in = input_of(c, c.input(0), heads);
  int positions = c.input(1);
  if (c.shape(positions) == Shape{1} && ir::is_integer(c.tensor(positions).dtype))
    positions = following(c, positions, in.length);
  else
    check_positions(c, positions, in);
  embed(c, in, cos, c.input(3), positions);
}

}  // namespace assay::import
