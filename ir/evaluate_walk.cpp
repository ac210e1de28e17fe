#include "ir/evaluate_walk.h"

#include <algorithm>

namespace assay::ir {
namespace {

int64_t floor_div(int64_t a, int64_t d) {  // d > 0
  return a >= 0 ? a / d : -((-a + d - 1) / d);
}

}  // namespace

std::optional<Affine> affine_of(const Index& a, size_t axes) {
  Affine form{a.offset, std::vector<int64_t>(axes, 0)};
  for (const Term& t : a.terms) {
    if (t.div != 1 || t.mod != 0) return std::nullopt;
    if (t.var >= 0) {
      form.coeff[static_cast<size_t>(t.var)] += t.coeff;
      continue;
    }
    const std::optional<Affine> nested = affine_of(t.of[0], axes);
    if (!nested) return std::nullopt;
    add_scaled(form, *nested, t.coeff);
  }
  return form;
}

void add_scaled(Affine& to, const Affine& a, int64_t factor) {
  to.offset += a.offset * factor;
  for (size_t i = 0; i < to.coeff.size(); ++i) to.coeff[i] += a.coeff[i] * factor;
}

Walk::Walk(std::vector<Axis> axes, size_t inner, std::vector<Affine> forms)
    : axes_(std::move(axes)), inner_(inner), forms_(std::move(forms)), position_(axes_.size(), 0) {
  for (const Affine& form : forms_) values_.push_back(form.offset);
}

bool Walk::next() {
  for (size_t axis = axes_.size(); axis-- > 0;) {
    if (axis == inner_) continue;
    const bool wraps = ++position_[axis] == axes_[axis].extent;
    const int64_t moved = wraps ? 1 - axes_[axis].extent : 1;
    for (size_t f = 0; f < forms_.size(); ++f) values_[f] += moved * forms_[f].coeff[axis];
    if (!wraps) return true;
    position_[axis] = 0;
  }
  return false;
}

Span inside(int64_t value, int64_t step, int64_t bound, int64_t extent) {
  if (step == 0) return value >= 0 && value < bound ? Span{0, extent} : Span{0, 0};
  if (step < 0) {  // mirrored: 0 <= bound - 1 - value - i * step < bound
    value = bound - 1 - value;
    step = -step;
  }
  const int64_t first = std::max<int64_t>(0, floor_div(-value + step - 1, step));
  const int64_t last = std::min(extent, floor_div(bound - 1 - value, step) + 1);
  return first < last ? Span{first, last} : Span{0, 0};
}

Span intersect(Span a, Span b) {
  const Span both{std::max(a.first, b.first), std::min(a.last, b.last)};
  return both.first < both.last ? both : Span{0, 0};
}

bool can_leave(const Affine& form, const std::vector<Axis>& axes, int64_t bound) {
  int64_t low = form.offset, high = form.offset;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t reach = form.coeff[i] * (axes[i].extent - 1);
    (reach < 0 ? low : high) += reach;
  }
  return low < 0 || high >= bound;
}

}  // namespace assay::ir
