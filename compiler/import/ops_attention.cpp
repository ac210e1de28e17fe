// Attention of ONNX (opset 23 and later).
#include <fmt/format.h>

#include <limits>

#include "compiler/import/attention.h"
#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;

constexpr double kNone = -std::numeric_limits<double>::infinity();

enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };
enum Output { kY, kPresentKey, kPresentValue, kScores };

int heads_of(Context& c, int input, const char* attribute) {
  const int x = c.input(input);
  if (c.shape(x).size() == 4) return x;
  if (!c.has_attribute(attribute))
    refuse(
        fmt::format("attribute {} is missing, which inputs of three dimensions need", attribute));
  return split_heads(c, x, c.int_attribute(attribute, 0));
}

// Which keys a query sees, as conditions on the axes of the scores and on operands.
struct Mask {
  int given = -1, lengths = -1;
  bool causal = false;
  int64_t left = -1, right = -1;  // of the window; -1: unbounded
  int64_t past = 0;

  bool any() const { return given >= 0 || lengths >= 0 || causal || left >= 0 || right >= 0; }
  // Without an operand, each query sees at least its own key when there are as many.
  bool may_hide_all(int64_t queries, int64_t keys) const {
    return given >= 0 || lengths >= 0 || ((left >= 0 || right >= 0) && queries + past > keys);
  }
};

void check_mask(const Context& c, const Mask& m, const Shape& scores) {
  if (m.given < 0) return;
  Shape seen = c.shape(m.given);
  if (!seen.empty() && seen.back() <= scores[kKey]) seen.back() = scores[kKey];
  if (seen.empty() || seen.size() > 4 || broadcast(scores, seen) != scores)
    refuse(fmt::format("attn_mask has shape [{}], which can not be broadcast to [{}]",
                       fmt::join(c.shape(m.given), ", "), fmt::join(scores, ", ")));
}

// The given mask at a score; beyond its last key nothing is seen.
void apply_given(Context& c, int mask, const Shape& scores, Expression& e) {
  const Shape shape = c.shape(mask);
  const bool logical = c.tensor(mask).dtype == ir::DType::boolean;
  Shape seen = shape;
  seen.back() = scores[kKey];
  std::vector<ir::Index> at = broadcast_index(seen, scores);
  if (scores[kKey] > 1) at.back() = ir::variable(static_cast<int>(kKey));
  const bool shorter = shape.back() < scores[kKey];
  e.reads.push_back(shorter ? guarded_read(mask, std::move(at), logical ? 0 : kNone)
                            : plain_read(mask, std::move(at)));
  const Scalar value = ir::read(static_cast<int>(e.reads.size()) - 1);
  e.body =
      logical ? choose(value, std::move(e.body), number(kNone)) : add(std::move(e.body), value);
}

void hide(Expression& e, Scalar where) {
  e.body = choose(std::move(where), number(kNone), std::move(e.body));
}

void apply(Context& c, const Mask& m, const Shape& scores, Expression& e) {
  if (m.given >= 0) apply_given(c, m.given, scores, e);
  // The place of a query among the keys.
  Scalar place = axis_value(kQuery);
  if (m.past != 0) place = add(std::move(place), number(static_cast<double>(m.past)));
  if (m.lengths >= 0) {
    e.reads.push_back(plain_read(m.lengths, {ir::variable(static_cast<int>(kBatch))}));
    const Scalar length = ir::read(static_cast<int>(e.reads.size()) - 1);
    place = add(std::move(place), sub(length, number(static_cast<double>(scores[kQuery]))));
    hide(e, less(axis_value(kKey), length));
    std::swap(e.body.args[1], e.body.args[2]);
  }
  if (m.causal) hide(e, less(place, axis_value(kKey)));
  if (m.left >= 0) hide(e, less(axis_value(kKey), sub(place, number(static_cast<double>(m.left)))));
  if (m.right >= 0)
    hide(e, less(add(place, number(static_cast<double>(m.right))), axis_value(kKey)));
}

int64_t window_of(const Context& c, const char* name) {
  const int64_t size = c.int_attribute(name, -1);
  if (size < -1 || size > (int64_t{1} << 24)) refuse(fmt::format("{} = {}", name, size));
  return size;
}

void check_attributes(const Context& c) {
  const int64_t precision = c.int_attribute("softmax_precision", onnx::TensorProto::FLOAT);
  if (precision == onnx::TensorProto::DOUBLE)
    refuse("softmax_precision is f64", "elements are f32 when a program runs");
  const int64_t mode = c.int_attribute("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    refuse(fmt::format("qk_matmul_output_mode = {} is not known, only 0 to 3", mode));
  if (c.float_attribute("softcap", 0) < 0) refuse("softcap is negative");
  if (c.has_input(kPastKey) != c.has_input(kPastValue))
    refuse("past_key and past_value must be given together");
  if (c.has_input(kPastKey) && c.has_input(kLengths))
    refuse("nonpad_kv_seqlen can not be given together with past_key");
}

}  // namespace

void import_attention(Context& c) {
  check_attributes(c);
  const bool merged = c.shape(c.input(kQ)).size() == 3;
  AttentionForm a;
  a.q = heads_of(c, kQ, "q_num_heads");
  a.k = with_past(c, optional_input(c, kPastKey), heads_of(c, kK, "kv_num_heads"));
  a.v = with_past(c, optional_input(c, kPastValue), heads_of(c, kV, "kv_num_heads"));
  if (c.shape(a.q).size() != 4 || c.shape(a.k).size() != 4)
    refuse("Q, K and V must have three or four dimensions");
  Mask m{optional_input(c, kMask),
         optional_input(c, kLengths),
         c.int_attribute("is_causal", 0) != 0,
         window_of(c, "left_window_size"),
         window_of(c, "right_window_size"),
         0};
  if (c.has_input(kPastKey)) m.past = c.shape(c.input(kPastKey))[2];
  const Shape scores = {c.shape(a.q)[0], c.shape(a.q)[1], c.shape(a.q)[2], c.shape(a.k)[2]};
  check_mask(c, m, scores);
  if (m.lengths >= 0 && c.shape(m.lengths) != Shape{scores[kBatch]})
    refuse(fmt::format("nonpad_kv_seqlen has shape [{}], expected [{}]",
                       fmt::join(c.shape(m.lengths), ", "), scores[kBatch]));
  if (c.has_attribute("scale")) a.scale = c.float_attribute("scale", 1);
  a.softcap = c.float_attribute("softcap", 0);
  if (m.any()) a.mask = [&](Expression& e) { apply(c, m, scores, e); };
  a.empty_rows = m.may_hide_all(scores[kQuery], scores[kKey]);
  if (wants_output(c, kScores)) a.scores_output = kScores;
  a.stage = static_cast<AttentionForm::Stage>(c.int_attribute("qk_matmul_output_mode", 0));
  const int y = attended(c, a);
  c.bind(kY, merged ? merge_heads(c, y) : y);
  c.bind(kPresentKey, a.k);
  c.bind(kPresentValue, a.v);
}

}  // namespace assay::import
