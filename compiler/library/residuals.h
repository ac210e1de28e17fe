// How far measured times lay from estimates of a library's kernels: counted, not fitted.
//
// Split-conformal intervals (Vovk et al.; Angelopoulos and Bates, arXiv 2107.07511): of each class
// of operators and regime of times, quantiles of measured / predicted over kept tables of real
// devices. `assay accuracy` writes the file and names the tables.
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
