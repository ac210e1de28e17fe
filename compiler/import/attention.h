// Scaled dot-product attention as expressions, shared by the operators that have it.
//
//   y[b, n, i] = sum(j) softmax(j) (scale q[b, n, i] . k[b, m, j] + mask) v[b, m, j],  m = n /
//   group
//
// A group of query heads shares a head of keys and values: its rows are seen as rows of one matrix,
// so that no key is copied. Source: Ainslie et al., EMNLP'23 (grouped-query attention).
#pragma once

#include <functional>
#include <optional>

#include "compiler/import/context.h"

namespace assay::import {

// [batch, length, heads * size] -> [batch, heads, length, size], and back.
int split_heads(Context& c, int x, int64_t heads);
int merge_heads(Context& c, int x);

// Axes of the scores.
enum : size_t { kBatch, kHead, kQuery, kKey };

struct AttentionForm {
  int q = -1, k = -1, v = -1;        // [batch, heads, length, size]
  std::optional<double> scale = {};  // none: 1 / sqrt(size)
  double softcap = 0;                // 0: none
  // Adds to the body of an expression over the scores. With `empty_rows`, it may leave a row
  // without a key, whose result is 0.
  std::function<void(Expression&)> mask = {};
  bool empty_rows = false;
  int scores_output = -1;  // of the ONNX node: the scores of a stage, -1: none
  enum Stage { raw, capped, masked, normal } stage = raw;
};

// [batch, heads of q, length of q, size of v]
int attended(Context& c, const AttentionForm& a);

// `past` before `now` along the sequence; -1: none.
int with_past(Context& c, int past, int now);

// 1 where the key comes after the query, whose place is `offset` further.
ir::Scalar key_after_query(int64_t offset);

}  // namespace assay::import
