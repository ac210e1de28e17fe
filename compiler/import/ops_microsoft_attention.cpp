// MultiHeadAttention and Attention of ONNX Runtime (domain com.microsoft).
#include <fmt/format.h>

#include <limits>

#include "compiler/import/attention.h"
#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;

int64_t head_count(const Context& c) {
  const int64_t heads = c.int_attribute("num_heads", 0);
  if (heads < 1) refuse(fmt::format("num_heads = {}", heads));
  return heads;
}

struct Masks {
  int padding = -1;  // 1 where a key is seen, or how many keys are
  int bias = -1;
  int64_t past = 0;
};

Scalar next_read(Expression& e, ir::Read r) {
  e.reads.push_back(std::move(r));
  return ir::read(static_cast<int>(e.reads.size()) - 1);
}

// Where the padding mask hides a key.
Scalar hidden(Context& c, int mask, const Shape& scores, Expression& e) {
  const Shape s = c.shape(mask);
  const int64_t batch = scores[kBatch];
  const ir::Index b = ir::variable(kBatch), i = ir::variable(kQuery), j = ir::variable(kKey);
  if (s == Shape{batch, scores[kKey]})
    return less(next_read(e, plain_read(mask, {b, j})), number(1));
  if (s == Shape{batch, scores[kQuery], scores[kKey]})
    return less(next_read(e, plain_read(mask, {b, i, j})), number(1));
  if (s.size() != 1 || (s[0] != batch && s[0] != 2 * batch))
    refuse(fmt::format("the mask has shape [{}], expected [{}], [{}], [{}, {}] or [{}, {}, {}]",
                       fmt::join(s, ", "), batch, 2 * batch, batch, scores[kKey], batch,
                       scores[kQuery], scores[kKey]));
  const Scalar key = axis_value(kKey);
  Scalar seen = less(key, next_read(e, plain_read(mask, {b})));
  if (s[0] == 2 * batch) {
    const Scalar start = next_read(e, plain_read(mask, {b + batch}));
    seen = choose(less(key, start), number(0), std::move(seen));
  }
  return equal(std::move(seen), number(0));
}

// Padding adds the filter's value, a query sees no later key.
void apply(Context& c, const Masks& m, const Shape& scores, Expression& e) {
  if (m.bias >= 0) {
    const Shape bias = c.shape(m.bias);
    if (bias.size() != 4 || broadcast(scores, bias) != scores)
      refuse(fmt::format("attention_bias has shape [{}], which can not be broadcast to [{}]",
                         fmt::join(bias, ", "), fmt::join(scores, ", ")));
    e.body =
        add(std::move(e.body), next_read(e, plain_read(m.bias, broadcast_index(bias, scores))));
  }
  if (m.padding >= 0) {
    const double filter = c.float_attribute("mask_filter_value", -10000);
    Scalar where = hidden(c, m.padding, scores, e);
    e.body = add(std::move(e.body), choose(std::move(where), number(filter), number(0)));
  }
  if (c.int_attribute("unidirectional", 0) != 0)
    e.body = choose(key_after_query(m.past), number(-std::numeric_limits<double>::infinity()),
                    std::move(e.body));
}

AttentionForm form_of(Context& c, const Masks& m, const Shape& scores) {
  AttentionForm a;
  // 0 is the default too.
  if (const double scale = c.float_attribute("scale", 0); scale != 0) a.scale = scale;
  if (m.padding >= 0 || m.bias >= 0 || c.int_attribute("unidirectional", 0) != 0)
    a.mask = [&c, m, scores](Expression& e) { apply(c, m, scores, e); };
  return a;
}

// x plus elements start .. of the bias along the last dimension.
int with_bias_part(Context& c, int x, int bias, int64_t start) {
  if (bias < 0 || c.shape(x).empty()) return x;
  const int64_t extent = c.shape(x).back();
  if (c.shape(bias).size() != 1 || start + extent > c.shape(bias)[0])
    refuse(fmt::format("the bias has shape [{}], of which {} are read at {}",
                       fmt::join(c.shape(bias), ", "), extent, start));
  return with_bias(c, x, part_of(c, bias, 0, start, extent));
}

// [batch, length, heads, parts, size]: one part as heads.
int unpacked(Context& c, int x, int64_t heads, int64_t parts, int64_t part) {
  const Shape s = c.shape(x);
  if (s.size() != 5 || s[2] != heads || s[3] != parts)
    refuse(fmt::format("{} has shape [{}], expected [batch, length, {}, {}, size]",
                       c.tensor(x).name, fmt::join(s, ", "), heads, parts));
  Expression e = pointwise("unpack", {s[0], s[2], s[1], s[4]}, c.tensor(x).dtype, "unpacked");
  e.reads = {plain_read(
      x, {ir::variable(0), ir::variable(2), ir::variable(1), ir::constant(part), ir::variable(3)})};
  e.body = ir::read(0);
  return c.emit(std::move(e));
}

// The heads of queries, keys and values from their inputs' many forms.
struct Heads {
  int q, k, v;
};

Heads heads_of(Context& c, int64_t heads) {
  const int query = c.input(0), bias = optional_input(c, 3);
  const size_t packed = c.shape(query).size();
  if (packed == 5) {
    if (bias >= 0) refuse("input bias can not be given with packed queries, keys and values");
    return {unpacked(c, query, heads, 3, 0), unpacked(c, query, heads, 3, 1),
            unpacked(c, query, heads, 3, 2)};
  }
  const int q = split_heads(c, with_bias_part(c, query, bias, 0), heads);
  if (!c.has_input(1)) refuse("input key is missing");
  const int key = c.input(1);
  const int64_t hidden = c.shape(query)[2];
  if (c.shape(key).size() == 5) {
    if (bias >= 0) refuse("input bias can not be given with packed keys and values");
    return {q, unpacked(c, key, heads, 2, 0), unpacked(c, key, heads, 2, 1)};
  }
  const int value = c.input(2);
  if (c.shape(key).size() == 4) return {q, key, value};  // of a cross attention's cache
  return {q, split_heads(c, with_bias_part(c, key, bias, hidden), heads),
          split_heads(c, with_bias_part(c, value, bias, 2 * hidden), heads)};
}

Shape scores_of(const Context& c, int q, int k) {
  const Shape &a = c.shape(q), &b = c.shape(k);
  if (a.size() != 4 || b.size() != 4) refuse("queries and keys do not fit");
  return {a[0], a[1], a[2], b[2]};
}

void refuse_input(const Context& c, int i, const char* name) {
  if (c.has_input(i)) refuse(fmt::format("input {} is not supported", name));
}

}  // namespace

void import_multi_head_attention(Context& c) {
  const int64_t heads = head_count(c);
  refuse_input(c, 8, "past_sequence_length");
  refuse_input(c, 9, "cache_indirection");
  if (c.has_input(6) != c.has_input(7)) refuse("past_key and past_value must be given together");
  const Heads now = heads_of(c, heads);
  const int k = with_past(c, optional_input(c, 6), now.k);
  const int v = with_past(c, optional_input(c, 7), now.v);
  const Masks m{optional_input(c, 4), optional_input(c, 5), c.shape(k)[2] - c.shape(now.k)[2]};
  AttentionForm a = form_of(c, m, scores_of(c, now.q, k));
  a.q = now.q;
  a.k = k;
  a.v = v;
  if (wants_output(c, 3)) refuse("output qk is not computed");
  c.bind(0, merge_heads(c, attended(c, a)));
  c.bind(1, k);
  c.bind(2, v);
}

namespace {

// One of keys and values of the cache, [2, batch, heads, length, size].
int past_part(Context& c, int part) {
  if (!c.has_input(4)) return -1;
  const Shape s = c.shape(c.input(4));
  if (s.size() != 5 || s[0] != 2)
    refuse(fmt::format("past has shape [{}], expected [2, batch, heads, length, size]",
                       fmt::join(s, ", ")));
  return reshaped(c, part_of(c, c.input(4), 0, part, 1), {s[1], s[2], s[3], s[4]}, "past");
}

int stacked(Context& c, int k, int v) {
  Shape s = c.shape(k);
  s.insert(s.begin(), 1);
  return concatenated(c, {reshaped(c, k, s), reshaped(c, v, s)}, 0, "present");
}

// The widths of queries, keys and values in the product of input and weights.
Shape widths_of(const Context& c, int64_t columns) {
  Shape widths = c.ints_attribute("qkv_hidden_sizes");
  if (widths.empty()) widths.assign(3, columns / 3);
  if (widths.size() != 3 || widths[0] != widths[1] || widths[0] < 1 || widths[2] < 1 ||
      widths[0] + widths[1] + widths[2] != columns)
    refuse(fmt::format("qkv_hidden_sizes [{}] for {} columns of the weights",
                       fmt::join(widths, ", "), columns));
  return widths;
}

}  // namespace

// The projections of queries, keys and values are one product.
void import_microsoft_attention(Context& c) {
  const int64_t heads = head_count(c);
  for (const char* name : {"do_rotary", "past_present_share_buffer"})
    if (c.int_attribute(name, 0) != 0) refuse(fmt::format("{} = 1 is not supported", name));
  refuse_input(c, 6, "past_sequence_length");
  if (c.shape(c.input(0)).size() != 3 || c.shape(c.input(1)).size() != 2)
    refuse("the input must have three dimensions, the weights two");
  const Shape widths = widths_of(c, c.shape(c.input(1))[1]);
  int all = product(c, plain_view(c, c.input(0)), plain_view(c, c.input(1)));
  if (c.has_input(2)) all = with_bias(c, all, c.input(2));
  const auto part = [&](size_t i) {
    const int64_t start = i == 0 ? 0 : i == 1 ? widths[0] : widths[0] + widths[1];
    return split_heads(c, part_of(c, all, 2, start, widths[i]), heads);
  };
  const int q = part(0), k = with_past(c, past_part(c, 0), part(1)),
            v = with_past(c, past_part(c, 1), part(2));
  const Masks m{optional_input(c, 3), optional_input(c, 5), c.shape(k)[2] - c.shape(q)[2]};
  AttentionForm a = form_of(c, m, scores_of(c, q, k));
  a.q = q;
  a.k = k;
  a.v = v;
  c.bind(0, merge_heads(c, attended(c, a)));
  if (!wants_output(c, 1)) return;
  if (c.shape(k) != c.shape(v)) refuse("output present needs keys and values of one size");
  c.bind(1, stacked(c, k, v));
}

}  // namespace assay::import
