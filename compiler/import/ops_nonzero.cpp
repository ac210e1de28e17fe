// NonZero, of constants alone: how many positions there are is a shape.
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"

namespace assay::import {

// Row d of the result holds the positions' coordinates in dimension d. A number has no dimensions.
void import_non_zero(Context& c) {
  const int x = c.input(0);
  if (!c.is_constant(x))
    refuse("NonZero of " + c.tensor(x).name + ", whose values are known only at run time",
           "the shape of the result depends on them");
  const Shape shape = c.shape(x);
  const std::vector<double> values = c.numbers(x);
  std::vector<size_t> places;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0) places.push_back(i);
  const Shape to = {static_cast<int64_t>(shape.size()), static_cast<int64_t>(places.size())};
  if (is_empty(to)) return c.bind(0, c.add_empty(ir::DType::i64, to));
  Shape found(shape.size() * places.size());
  for (size_t p = 0; p < places.size(); ++p)
    for (size_t d = shape.size(), rest = places[p]; d-- > 0;) {
      found[d * places.size() + p] = static_cast<int64_t>(rest) % shape[d];
      rest /= static_cast<size_t>(shape[d]);
    }
  c.bind(0, c.add_integers(ir::DType::i64, to, found));
}

}  // namespace assay::import
