#include "compiler/import/sampling.h"

#include <fmt/format.h>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"

namespace assay::import {

int image_rows(Context& c, int x) {
  const Shape shape = c.shape(x);
  int64_t places = 1;
  for (size_t d = 2; d < shape.size(); ++d) places *= shape[d];
  if (shape[0] * places >= int64_t{1} << 24)
    refuse(fmt::format("images of {} places: f32 represents {} exactly", shape[0] * places,
                       (int64_t{1} << 24) - 1));
  std::vector<size_t> order = {0};
  for (size_t d = 2; d < shape.size(); ++d) order.push_back(d);
  order.push_back(1);
  return reshaped(c, transposed(c, x, order, "channels_last"), {shape[0], places, shape[1]},
                  "rows");
}

int sampled(Context& c, const Samples& s) {
  Shape to = c.shape(s.places);
  const int64_t taps = to.back();
  to.back() = c.shape(s.rows).back();
  Expression e = pointwise("sample", to, c.tensor(s.rows).dtype, "sampled");
  std::vector<ir::Index> at = identity_index(to.size());
  const ir::Index channel = at.back();
  at.back() = taps == 1 ? ir::constant(0) : ir::variable(static_cast<int>(to.size()));
  e.reads = {plain_read(s.rows, {s.shared ? ir::constant(0) : at[0], ir::constant(0), channel}),
             plain_read(s.places, at)};
  e.reads[0].lookup = ir::Lookup{1, 1};
  e.body = ir::read(0);
  if (s.weights >= 0) {
    e.reads.push_back(plain_read(s.weights, at));
    e.body = mul(std::move(e.body), ir::read(2));
  }
  if (taps > 1) {
    e.reduce = {{"t", taps}};
    e.combine = s.combine;
  }
  return c.emit(std::move(e));
}

}  // namespace assay::import
