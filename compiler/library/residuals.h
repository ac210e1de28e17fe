// How far measured times lay from estimates of a library's kernels: counted, not fitted.
//
// Of each class of operators and regime of times, quantiles of measured / predicted that hold for a
// new device, over kept tables of real ones. `assay accuracy` writes the file and names the tables;
// how it counts is in toolkit/accuracy_intervals.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/library/operators.h"
#include "support/result.h"

namespace assay::compiler {

struct Residual {
  std::string kind;          // product, rows, pointwise
  double below = 0;          // s: of estimates up to here, and above the entry before
  double low = 1, high = 1;  // measured / predicted: 90 % lie within
  int64_t n = 0;             // measurements behind it
  int64_t devices = 1;       // on which they were taken
};

struct Residuals {
  std::vector<Residual> rows;
};

std::string_view kind_of(const LibraryOperator& o);  // its class, as in the file

// Errors: unknown or missing keys, a quantile that is not positive, low above high.
Result<Residuals> parse_residuals(std::string_view text, std::string_view file);

// Measured / predicted of an estimate; {1, 1}: nothing is known of its class.
Residual residual_of(const Residuals& all, std::string_view kind, double seconds);

}  // namespace assay::compiler
