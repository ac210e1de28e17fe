// Affine forms over the axes of a node, updated while the axes are walked: element offsets, and
// indices whose bounds guard a read. A step along one axis costs one addition per form.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace assay::ir {

struct Affine {
  int64_t offset = 0;
  std::vector<int64_t> coeff;  // per axis
};

// Does it leave [0, bound) somewhere?
bool can_leave(const Affine& form, const std::vector<Axis>& axes, int64_t bound);

// The index as an affine form; nullopt when it divides or takes a modulo.
std::optional<Affine> affine_of(const Index& a, size_t axes);

void add_scaled(Affine& to, const Affine& a, int64_t factor);

class Walk {  // invariant: values_[f] = forms_[f] at position_, the inner axis counting as 0
 public:
  Walk(std::vector<Axis> axes, size_t inner, std::vector<Affine> forms);

  bool next();  // the next position of all axes but the inner one, last axis fastest
  int64_t value(size_t form) const { return values_[form]; }
  int64_t step(size_t form) const { return forms_[form].coeff[inner_]; }
  std::vector<int64_t>& position() { return position_; }  // the inner entry is the caller's
  size_t inner() const { return inner_; }
  int64_t extent() const { return axes_[inner_].extent; }

 private:
  std::vector<Axis> axes_;
  size_t inner_ = 0;
  std::vector<Affine> forms_;
  std::vector<int64_t> values_, position_;
};

// The i in [0, extent) with 0 <= value + i * step < bound, as [first, last).
struct Span {
  int64_t first = 0, last = 0;
};
Span inside(int64_t value, int64_t step, int64_t bound, int64_t extent);
Span intersect(Span a, Span b);

}  // namespace assay::ir
