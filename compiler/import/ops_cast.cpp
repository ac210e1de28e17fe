// Cast and CastLike: of constants exactly, else as a formula on f32 elements. Stores to types that
// hold fewer digits round.
#include <algorithm>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::DType;

void cast_bytes(Context& c, int x, DType to) {
  const DType from = c.tensor(x).dtype;
  c.check_constant_size(to, c.shape(x));
  const std::vector<std::byte>& source = c.bytes(x);
  const size_t a = static_cast<size_t>(ir::bytes_of(from)),
               b = static_cast<size_t>(ir::bytes_of(to));
  std::vector<std::byte> bytes(source.size() / a * b);
  for (size_t i = 0; i < source.size() / a; ++i) {
    std::byte* at = bytes.data() + i * b;
    if (to == DType::boolean)
      ir::store_integer(to, at, ir::load_element(from, source.data() + i * a) != 0);
    else if (ir::is_integer(from) && ir::is_integer(to))
      ir::store_integer(to, at, ir::load_integer(from, source.data() + i * a));
    else
      ir::store_element(to, at, ir::load_element(from, source.data() + i * a));
  }
  c.bind(0, c.add_constant(to, c.shape(x), std::move(bytes)));
}

// Whether every value of `from` is one of `to`, so that nothing has to be rounded.
bool holds(DType to, DType from) {
  if (from == DType::boolean || !ir::is_small_float(to)) return true;
  if (ir::is_float8(from)) return !ir::is_float8(to);
  return to == DType::f16 && (from == DType::i8 || from == DType::u8);
}

// A value that a cast narrows to a small float is rounded when it is stored; in a register it may
// keep its digits. Another cast behind it asks for the rounding itself, so it is computed.
int cast_operand(Context& c) {
  const int x = c.input(0), producer = ir::producer_of(c.graph, x);
  const DType from = c.tensor(x).dtype;
  if (!ir::is_small_float(from) || producer < 0) return x;
  const ir::Node& n = c.graph.nodes[static_cast<size_t>(producer)];
  if (n.op != "cast" || holds(from, c.tensor(n.reads[0].tensor).dtype)) return x;
  return rounded_to(c, n.reads[0].tensor, from, DType::f32);
}

// Without, what is beyond the largest number becomes NaN or an infinity, which stores do not.
void check_saturate(const Context& c, DType to) {
  if (ir::is_float8(to) && c.int_attribute("saturate", 1) == 0)
    refuse("saturate = 0, to " + std::string(ir::name_of(to)), "casts that saturate are supported");
}

void cast(Context& c, DType to) {
  check_saturate(c, to);
  if (to == c.tensor(c.input(0)).dtype) return c.bind(0, c.input(0));
  const int x = cast_operand(c);
  const DType from = c.tensor(x).dtype;
  if (to == from) return c.bind(0, x);
  if (is_empty(c.shape(x))) return c.bind(0, c.add_empty(to, c.shape(x)));
  if (c.is_constant(x)) return cast_bytes(c, x, to);
  Expression e = pointwise("cast", c.shape(x), to);
  e.reads = {plain_read(x, identity_index(c.shape(x).size()))};
  e.body = ir::read(0);
  if (to == DType::boolean)
    e.body = choose(ir::read(0), ir::number(1), ir::number(0));
  else if (ir::is_integer(to))
    e.body = wrapped(c, to, ir::is_integer(from) ? ir::read(0) : truncated(ir::read(0)));
  c.bind(0, c.emit(std::move(e)));
}

}  // namespace

void import_cast(Context& c) {
  cast(c, dtype_of(static_cast<int>(std::clamp<int64_t>(c.int_attribute("to", 0), -1, 1000))));
}

void import_cast_like(Context& c) { cast(c, c.tensor(c.input(1)).dtype); }

}  // namespace assay::import
