// Quasi-affine integer expressions over numbered variables. Tensor expressions index elements with
// them, layouts map to storage, and loop kernels address buffers.
//
//   Index = offset + sum_i coeff_i * term_i,   term = (base / div) % mod
//   base  = a variable, or a nested Index;  div >= 1 (floor division);  mod >= 1, 0: no modulo
//
// The variables are the axes of a node, or the index variables of a loop kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay::ir {

struct Index;

struct Term {
  int64_t coeff = 1;
  int var = -1;           // >= 0: the base is this variable
  std::vector<Index> of;  // exactly one element when var < 0: the base is this expression
  int64_t div = 1;
  int64_t mod = 0;  // 0: none
  bool operator==(const Term&) const;
};

struct Index {
  std::vector<Term> terms;
  int64_t offset = 0;
  bool operator==(const Index&) const = default;
};

Index constant(int64_t value);
Index variable(int var, int64_t coeff = 1);
Index operator+(Index a, const Index& b);
Index operator*(Index a, int64_t factor);
Index operator+(Index a, int64_t b);

// Inclusive range of values.
struct Range {
  int64_t low = 0, high = 0;
  bool operator==(const Range&) const = default;
};

// Ranges of all variables, by number.
using Ranges = std::span<const Range>;

// floor(a / d) and a mod d, simplified with `ranges`:
//   (d*x + y)/d = x and (d*x + y)%d = y  when 0 <= y < d.
// What does not simplify stays a nested term.
Index divide(const Index& a, int64_t d, Ranges ranges);
Index modulo(const Index& a, int64_t d, Ranges ranges);

// Merges equal terms, drops zero ones, resolves nested terms where `ranges` allows it.
Index simplify(const Index& a, Ranges ranges);

// The tightest interval that interval arithmetic gives; exact for affine expressions.
Range range_of(const Index& a, Ranges ranges);

// The distinct values over the ranges. They span `span` integers; at most `count` of them occur,
// with distance `step` (1 where distances differ). Exact for affine expressions where each stride
// is a multiple of the smaller ones, or larger than the range that they cover.
struct Reach {
  int64_t span = 1, count = 1, step = 1;
  bool operator==(const Reach&) const = default;
};
Reach reach_of(const Index& a, Ranges ranges);

int64_t evaluate(const Index& a, std::span<const int64_t> values);

// Every variable replaced by the expression `with(var)` (nested ones too), unsimplified.
Index substitute(const Index& a, const std::function<Index(int)>& with);

bool depends_on(const Index& a, int var);

// The index has one value while `var` runs through this many numbers from a multiple of it on; 1:
// none that is told. Pre: it depends on `var`.
int64_t run_of(const Index& a, int var);

// The stride of `var` when the expression is affine in it outside any div or mod; nullopt when it
// is not. 0 when it does not occur.
std::optional<int64_t> stride_of(const Index& a, int var);

// The variable that the expression is; nullopt: it is another one.
std::optional<int> variable_of(const Index& a);

// Text such as `2*y + r - 3`, `c/16`, `(y*7 + x) % 49`; names[var] are the variables' names.
std::string print(const Index& a, std::span<const std::string> names);

}  // namespace assay::ir
