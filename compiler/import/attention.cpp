#include "compiler/import/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"

namespace assay::import {

using ir::number;
using ir::ScalarOp;

int split_heads(Context& c, int x, int64_t heads) {
  const Shape s = c.shape(x);
  if (s.size() != 3 || heads < 1 || s[2] % heads != 0)
    refuse(fmt::format("{} has shape [{}], expected three dimensions, the last one of {} heads",
                       c.tensor(x).name, fmt::join(s, ", "), heads));
  return transposed(c, reshaped(c, x, {s[0], s[1], heads, s[2] / heads}, "heads"), {0, 2, 1, 3});
}

int merge_heads(Context& c, int x) {
  const Shape s = c.shape(x);
  return reshaped(c, transposed(c, x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]}, "merged");
}

int with_past(Context& c, int past, int now) {
  if (past < 0) return now;
  if (c.shape(past).size() != 4)
    refuse(fmt::format("{} has shape [{}], expected four dimensions", c.tensor(past).name,
                       fmt::join(c.shape(past), ", ")));
  return concatenated(c, {past, now}, 2, "present");
}

ir::Scalar key_after_query(int64_t offset) {
  ir::Scalar query = axis_value(kQuery);
  if (offset != 0) query = add(std::move(query), number(static_cast<double>(offset)));
  return less(std::move(query), axis_value(kKey));
}

namespace {

struct Extents {
  int64_t batch, heads, group, queries, keys;
};

// The extents, when those of all three operands agree.
Extents extents_of(const Context& c, const AttentionForm& a) {
  const Shape &q = c.shape(a.q), &k = c.shape(a.k), &v = c.shape(a.v);
  const bool right = q.size() == 4 && k.size() == 4 && v.size() == 4 && k[0] == q[0] &&
                     v[0] == q[0] && v[1] == k[1] && q[1] % k[1] == 0 && k[2] == v[2] &&
                     k[3] == q[3];
  if (!right)
    refuse(fmt::format("queries [{}], keys [{}] and values [{}] do not fit", fmt::join(q, ", "),
                       fmt::join(k, ", "), fmt::join(v, ", ")),
           "expected the same batch, heads that are a multiple of the keys', as many values as "
           "keys, and the same size of queries and keys");
  return {q[0], q[1], q[1] / k[1], q[2], k[2]};
}

Expression over_scores(Context& c, int scores, std::string suffix) {
  Expression e = pointwise("scores", c.shape(scores), c.tensor(scores).dtype, std::move(suffix));
  e.reads = {plain_read(scores, identity_index(4))};
  e.body = ir::read(0);
  return e;
}

// The stage's scores as a tensor and an output, from which the expression goes on.
void finish_stage(Context& c, const AttentionForm& a, AttentionForm::Stage stage, Expression& e) {
  if (a.scores_output < 0 || a.stage != stage) return;
  const int scores = c.emit(std::move(e));
  c.bind(a.scores_output, scores);
  e = over_scores(c, scores, "masked");
}

int scores_of(Context& c, const AttentionForm& a, int products) {
  Expression e = over_scores(c, products, "scores");
  const double scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(c.shape(a.q)[3])));
  if (scale != 1) e.body = mul(std::move(e.body), number(scale));
  finish_stage(c, a, AttentionForm::raw, e);
  if (a.softcap > 0)
    e.body =
        mul(number(a.softcap), call(ScalarOp::tanh, mul(std::move(e.body), number(1 / a.softcap))));
  finish_stage(c, a, AttentionForm::capped, e);
  if (a.mask) a.mask(e);
  finish_stage(c, a, AttentionForm::masked, e);
  if (e.body == ir::read(0)) return e.reads[0].tensor;
  return c.emit(std::move(e));
}

}  // namespace

int attended(Context& c, const AttentionForm& a) {
  const Extents x = extents_of(c, a);
  const int64_t size = c.shape(a.q)[3], groups = x.heads / x.group, rows = x.group * x.queries;
  const bool grouped = x.group > 1;
  const int q = grouped ? reshaped(c, a.q, {x.batch, groups, rows, size}, "groups") : a.q;
  int products = product(c, plain_view(c, q), plain_view(c, transposed(c, a.k, {0, 1, 3, 2})));
  if (grouped) products = reshaped(c, products, {x.batch, x.heads, x.queries, x.keys}, "products");
  int weights = softmax(c, scores_of(c, a, products), {kKey}, a.empty_rows);
  if (a.scores_output >= 0 && a.stage == AttentionForm::normal) c.bind(a.scores_output, weights);
  if (grouped) weights = reshaped(c, weights, {x.batch, groups, rows, x.keys}, "weights");
  const int y = product(c, plain_view(c, weights), plain_view(c, a.v), 1, "attended");
  if (!grouped) return y;
  return reshaped(c, y, {x.batch, x.heads, x.queries, c.shape(a.v)[3]}, "attended");
}

}  // namespace assay::import
