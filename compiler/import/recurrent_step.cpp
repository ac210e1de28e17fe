// The nodes of one step of a recurrence.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/indexing.h"
#include "compiler/import/recurrent.h"
#include "compiler/import/unroll.h"

namespace assay::import {

using ir::number;
using ir::Scalar;

int recurrent_product(Context& c, const Recurrence& r, int64_t time, int h, size_t number_of) {
  if (h < 0) return -1;
  const int weights = r.recurrent[number_of];
  Expression e;
  e.op = "matmul";
  e.suffix = fmt::format("product{}", time);
  e.spatial = {{"m", r.batch}, {"g", c.shape(weights)[0]}, {"n", r.hidden}};
  e.reduce = {{"k", r.hidden}};
  e.reads = {plain_read(h, {ir::variable(0), ir::variable(3)}),
             plain_read(weights, {ir::variable(1), ir::variable(2), ir::variable(3)})};
  e.body = mul(ir::read(0), ir::read(1));
  e.combine = ir::Combiner::sum;
  return emit_folded(c, std::move(e));
}

Scalar StepExpression::read(int tensor, std::vector<ir::Index> at) {
  const ir::Read r = plain_read(tensor, std::move(at));
  const auto found = std::find(reads_.begin(), reads_.end(), r);
  const auto place = found - reads_.begin();
  if (found == reads_.end()) reads_.push_back(r);
  return ir::read(static_cast<int>(place));
}

Scalar StepExpression::state(int tensor) {
  return tensor < 0 ? number(0) : read(tensor, identity_index(2));
}

Scalar StepExpression::parameter(int tensor, int64_t place) {
  return read(tensor, {ir::variable(1) + place * r_.hidden});
}

Scalar StepExpression::product(int tensor, int64_t place) {
  return read(tensor, {ir::variable(0), ir::constant(place), ir::variable(1)});
}

Scalar StepExpression::gate(int64_t number_of, int product_of, int64_t place) {
  const ir::Index row =
      r_.batch_first ? ir::variable(0, r_.steps) + time_ : ir::variable(0) + time_ * r_.batch;
  Scalar input = read(r_.inputs, {row, ir::variable(1) + number_of * r_.hidden});
  return product_of < 0 ? input : add(std::move(input), product(product_of, place));
}

Scalar StepExpression::activated(size_t function, Scalar x) const {
  if (r_.clip > 0) x = max(number(-r_.clip), min(number(r_.clip), std::move(x)));
  return import::activated(r_.activations[function], x);
}

int StepExpression::emit_state(Context& c, Scalar body, int before, const std::string& name) {
  if (time_ < r_.least) return emit(c, std::move(body), name);
  Scalar within = less(number(static_cast<double>(time_)), read(r_.lengths, {ir::variable(0)}));
  Scalar kept = state(before);
  return emit(c, choose(std::move(within), std::move(body), std::move(kept)), name);
}

int StepExpression::emit(Context& c, Scalar body, const std::string& name) {
  Expression e;
  e.op = name;
  e.suffix = fmt::format("{}{}", name, time_);
  e.spatial = axes_for({r_.batch, r_.hidden});
  e.reads = std::move(reads_);
  e.body = std::move(body);
  e.dtype = c.tensor(r_.inputs).dtype;
  return emit_folded(c, std::move(e));
}

}  // namespace assay::import
