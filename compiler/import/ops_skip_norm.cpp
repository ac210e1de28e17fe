// The normalisations of ONNX Runtime (domain com.microsoft) that add their operands first.
#include <fmt/format.h>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

double epsilon_of(const Context& c) {
  return c.float_attribute("epsilon", static_cast<double>(1e-12F));
}

void check_vector(const Context& c, int operand, int64_t extent) {
  if (operand >= 0 && c.shape(operand) != Shape{extent})
    refuse(fmt::format("{} has shape [{}], expected [{}]", c.tensor(operand).name,
                       fmt::join(c.shape(operand), ", "), extent));
}

// input + skip + bias, which is output 3, normalised over the last dimension.
void skip_norm(Context& c, int gamma, int beta, int bias, bool centred) {
  const int x = c.input(0), skip = c.input(1);
  const Shape shape = c.shape(x);
  if (shape.empty() || broadcast(shape, c.shape(skip)) != shape)
    refuse(fmt::format("skip has shape [{}], the input [{}]", fmt::join(c.shape(skip), ", "),
                       fmt::join(shape, ", ")));
  for (int operand : {gamma, beta, bias}) check_vector(c, operand, shape.back());
  Expression e = pointwise("add", shape, c.tensor(x).dtype, "skip");
  ir::Scalar sum = broadcast_operand(c, x, shape, e.reads);
  sum = add(std::move(sum), broadcast_operand(c, skip, shape, e.reads));
  if (bias >= 0) sum = add(std::move(sum), broadcast_operand(c, bias, shape, e.reads));
  e.body = std::move(sum);
  const int added = c.emit(std::move(e));
  const std::vector<size_t> last = {shape.size() - 1};
  const Normalisation n{gamma, beta, epsilon_of(c), centred ? 1 : -1, 2};
  const int y = centred ? layer_normal(c, added, last, n) : rms_normal(c, added, last, n);
  if (!centred && wants_output(c, 1)) refuse("output mean is not computed");
  c.bind(0, y);
  c.bind(3, added);
}

// Adds to the body, which is 0 at first.
void plus(Expression& e, ir::Scalar value) {
  e.body = e.body == ir::number(0) ? std::move(value) : add(std::move(e.body), std::move(value));
}

// Rows of an embedding, added: reads of the table at the positions that `ids` holds.
void add_rows(Context& c, Expression& e, int table, int ids, const Shape& shape) {
  if (c.shape(table).size() != 2 || c.shape(table)[1] != shape[2])
    refuse(fmt::format("embedding {} has shape [{}], expected rows of {}", c.tensor(table).name,
                       fmt::join(c.shape(table), ", "), shape[2]));
  const Shape picked = c.shape(ids);
  if (!ir::is_integer(c.tensor(ids).dtype) || picked.size() != 2 || picked[1] != shape[1] ||
      (picked[0] != shape[0] && picked[0] != 1))
    refuse(fmt::format("{} has shape [{}], expected integers of shape [{}, {}]", c.tensor(ids).name,
                       fmt::join(picked, ", "), shape[0], shape[1]));
  const int position = static_cast<int>(e.reads.size());
  e.reads.push_back(plain_read(ids, broadcast_index(picked, {shape[0], shape[1]})));
  e.reads.push_back(plain_read(table, {ir::constant(0), ir::variable(2)}));
  e.reads.back().lookup = ir::Lookup{0, position};
  plus(e, ir::read(position + 1));
}

// The number of words per sequence: those that the mask keeps, as ONNX Runtime counts them.
int mask_index(Context& c, int64_t batch, int64_t length) {
  if (!c.has_input(7))
    return c.add_integers(ir::DType::i32, {batch}, Shape(static_cast<size_t>(batch), 0));
  const int mask = c.input(7);
  if (c.shape(mask) != Shape{batch, length})
    refuse(fmt::format("the mask has shape [{}], expected [{}, {}]", fmt::join(c.shape(mask), ", "),
                       batch, length));
  Expression e = pointwise("mask_index", {batch}, ir::DType::i32, "mask_index");
  e.reduce = {{"k", length}};
  e.combine = ir::Combiner::sum;
  e.reads = {plain_read(mask, identity_index(2))};
  e.body = equal(ir::read(0), ir::number(1));
  return c.emit(std::move(e));
}

}  // namespace

void import_skip_layer_normalization(Context& c) {
  skip_norm(c, c.input(2), optional_input(c, 3), optional_input(c, 4), true);
}

void import_skip_simplified_layer_normalization(Context& c) {
  skip_norm(c, c.input(2), -1, optional_input(c, 3), false);
}

// Rows of words, positions and segments are looked up, added and normalised.
void import_embed_layer_normalization(Context& c) {
  const int ids = c.input(0), words = c.input(2), places = c.input(3);
  const Shape picked = c.shape(ids);
  if (picked.size() != 2 || c.shape(words).size() != 2)
    refuse(fmt::format("input_ids has shape [{}] and word_embedding [{}], expected two dimensions",
                       fmt::join(picked, ", "), fmt::join(c.shape(words), ", ")));
  const Shape shape = {picked[0], picked[1], c.shape(words)[1]};
  for (int i : {5, 6}) check_vector(c, c.input(i), shape[2]);
  Expression e = pointwise("embedding", shape, c.tensor(words).dtype, "embedding");
  add_rows(c, e, words, ids, shape);
  if (c.has_input(8)) {
    add_rows(c, e, places, c.input(8), shape);
  } else {
    const Shape table = c.shape(places);
    if (table.size() != 2 || table[0] < shape[1] || table[1] != shape[2])
      refuse(fmt::format("position_embedding has shape [{}], expected {} rows of {} or more",
                         fmt::join(table, ", "), shape[1], shape[2]));
    e.reads.push_back(plain_read(places, {ir::variable(1), ir::variable(2)}));
    plus(e, ir::read(static_cast<int>(e.reads.size()) - 1));
  }
  if (c.has_input(1) && c.has_input(4)) add_rows(c, e, c.input(4), c.input(1), shape);
  const int sum = c.emit(std::move(e));
  c.bind(0, layer_normal(c, sum, {2}, {c.input(5), c.input(6), epsilon_of(c), -1, -1}));
  if (wants_output(c, 1)) c.bind(1, mask_index(c, shape[0], shape[1]));
  c.bind(2, sum);
}

}  // namespace assay::import
